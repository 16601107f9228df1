"""The digest of an installed package, and that nothing of it runs before it was compared."""

from __future__ import annotations

import subprocess  # pip installs a wheel in a process of its own
import sys
from pathlib import Path
from typing import Any, Dict

import pytest

from ipulse_ops.neuron_package.loading import (
    InstalledPackage,
    PackageUnavailable,
    installed_packages,
    load_package,
)
from tests.ops.neuron_package.wheels import MODULE, NAME, importable, install, source, wheel


def installed(folder: Path) -> InstalledPackage:
    (found,) = installed_packages([str(folder)])
    return found


@pytest.mark.old_python
def test_equal_wheels_have_equal_digests_whoever_installs_them(tmp_path: Path) -> None:
    one = wheel(tmp_path / "one")
    first = installed(install(one, tmp_path / "a"))
    assert first.reference.startswith(f"{NAME}@sha256:")
    assert first.version == "coupled-dendrites 1.0"
    again = installed(install(wheel(tmp_path / "two"), tmp_path / "b"))
    assert again.digest == first.digest
    other = installed(install(wheel(tmp_path / "three", source() + "\n"), tmp_path / "c"))
    assert other.digest != first.digest


def test_the_installation_of_pip_has_the_same_digest(tmp_path: Path) -> None:
    pytest.importorskip("pip")
    made, target = wheel(tmp_path / "made"), tmp_path / "target"
    pip = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "-q"]
    subprocess.run([*pip, "--target", str(target), str(made)], check=True)
    assert (target / MODULE / "__pycache__").is_dir()
    unpacked = installed(install(made, tmp_path / "unpacked"))
    assert installed(target).digest == unpacked.digest


@pytest.mark.old_python
def test_a_signed_off_package_is_loaded(tmp_path: Path) -> None:
    folder = install(wheel(tmp_path / "made"), tmp_path / "installed")
    with importable(folder):
        reference = installed(folder).reference
        loaded = load_package(reference, [reference])
    names = [each.name for each in loaded.description.parameters]
    assert names == ["decay", "coupling", "gain"]
    assert loaded.description.package == reference


@pytest.mark.old_python
@pytest.mark.parametrize("case", ["not signed off", "another digest", "changed", "added"])
def test_a_package_that_is_not_signed_off_is_never_imported(tmp_path: Path, case: str) -> None:
    mark = tmp_path / "mark"
    text = source() + f"\nopen({str(mark)!r}, 'w').close()\n"
    folder = install(wheel(tmp_path / "made", text), tmp_path / "installed")
    reference = installed(folder).reference
    allowed = {"not signed off": [], "another digest": [f"{NAME}@sha256:{'0' * 64}"]}
    if case == "changed":
        with (folder / MODULE / "__init__.py").open("a", encoding="utf-8") as module:
            module.write("\n")
    elif case == "added":  # Python would prefer it to the source of the same name
        (folder / MODULE / "other.so").write_bytes(b"")
    with importable(folder):
        wanted = allowed.get(case, [reference])
        name = wanted[0] if case == "another digest" else reference
        with pytest.raises(PackageUnavailable) as refused:
            load_package(name, wanted)
        assert not mark.exists()
        assert NAME in refused.value.message
        if case == "not signed off":  # the mark is left as soon as it is
            load_package(reference, [reference])
            assert mark.exists()


UNFIT: Dict[str, Dict[str, str]] = {
    "runs at the start": {"evil.pth": "import os\n"},
    "bytecode alone": {f"{MODULE}/hidden.pyc": "x"},
    "outside": {"../bin/tool": "x"},
}


@pytest.mark.parametrize("more", UNFIT.values(), ids=UNFIT)
def test_files_that_the_digest_cannot_cover_are_refused(
    tmp_path: Path, more: Dict[str, Any]
) -> None:
    made = wheel(tmp_path / "made", more=more)
    found = installed(install(made, tmp_path / "one" / "installed"))
    assert found.unfit
    assert not found.digest


def test_a_module_of_the_same_name_before_it_on_the_path_is_not_imported(tmp_path: Path) -> None:
    folder = install(wheel(tmp_path / "made"), tmp_path / "installed")
    reference = installed(folder).reference
    mark = tmp_path / "mark"
    (tmp_path / "shadow").mkdir()
    text = f"open({str(mark)!r}, 'w').close()\n"
    (tmp_path / "shadow" / f"{MODULE}.py").write_text(text, "utf-8")
    shadow = importable(tmp_path / "shadow")
    with importable(folder), shadow, pytest.raises(PackageUnavailable):
        load_package(reference, [reference])
    assert not mark.exists()


def test_cached_bytecode_is_not_run(tmp_path: Path) -> None:
    """A .pyc that claims to be of the source is no part of the digest."""
    folder = install(wheel(tmp_path / "made"), tmp_path / "installed")
    reference, mark = installed(folder).reference, tmp_path / "mark"
    module = folder / MODULE / "__init__.py"
    text = source()
    evil = text + f"\nopen({str(mark)!r}, 'w').close()\n"
    module.write_text(evil, "utf-8")
    command = "import py_compile, sys; py_compile.compile(sys.argv[1], doraise=True, "
    command += "invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)"
    subprocess.run([sys.executable, "-c", command, str(module)], check=True)
    module.write_text(text, "utf-8")
    with importable(folder):
        load_package(reference, [reference])
    assert not mark.exists()
