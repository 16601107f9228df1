"""`ipulse neurons check` and `ipulse neurons list`, with the runner's Python and a service."""

from __future__ import annotations

from pathlib import Path

import pytest

from ipulse_core.spec.neuron_packages import VARIABLE
from ipulse_ops.neuron_package.loading import installed_packages
from tests.ipulse.cli.conftest import Run
from tests.ops.neuron_package.wheels import MODULE, NAME, install, source, wheel


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the installed example, in which the runner's Python looks, too."""
    installed = install(wheel(tmp_path / "made"), tmp_path / "installed")
    monkeypatch.setenv("PYTHONPATH", str(installed))
    return installed


def reference(folder: Path) -> str:
    [found] = installed_packages([str(folder)])
    return found.reference


def test_a_fit_package_is_checked_and_its_line_is_printed(offline: Run, folder: Path) -> None:
    ran = offline("neurons", "check", reference(folder))
    assert ran.code == 0, ran
    assert ran.out.splitlines()[-1] == f"{VARIABLE}={reference(folder)}"
    assert "failed" not in ran.out
    ran = offline("neurons", "check", NAME, "--digest")
    assert ran.out.split() == [reference(folder)]


def test_a_wrong_package_fails_with_its_checks(offline: Run, folder: Path) -> None:
    module = folder / MODULE / "__init__.py"
    old = "by_u = KEPT * (1 - spikes[t]) * by_u"
    module.write_text(source().replace(old, "by_u = KEPT * by_u"), "utf-8")
    ran = offline("neurons", "check", NAME, "--json")
    assert ran.code == 1
    assert ran.json["fine"] is False
    assert any(finding["problems"] for finding in ran.json["findings"])


def test_another_digest_and_an_unknown_name_are_refused(offline: Run, folder: Path) -> None:
    mark = folder.parent / "mark"
    with (folder / MODULE / "__init__.py").open("a", encoding="utf-8") as module:
        module.write(f"\nopen({str(mark)!r}, 'w').close()\n")
    ran = offline("neurons", "check", f"{NAME}@sha256:{'0' * 64}")
    assert ran.code == 2
    assert reference(folder) in ran.err
    assert not mark.exists()
    ran = offline("neurons", "check", "nobody")
    assert ran.code == 2
    assert NAME in ran.err


def test_without_the_worker_the_check_says_what_to_install(
    offline: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nexit 1\n")
    python.chmod(0o755)
    monkeypatch.setenv("IPULSE_RUNNER_PYTHON", str(python))
    for arguments in (("check", NAME), ("list",)):
        ran = offline("neurons", *arguments)
        assert ran.code == 5
        assert "Traceback" not in ran.err
    assert "pip install" in offline("neurons", "check", NAME).err


def test_the_list_has_what_is_installed_here(
    run: Run, offline: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [found] = offline("neurons", "list", "--json").json["neuron_packages"]
    assert (found["package"], found["here"]) == (reference(folder), "not_signed_off")
    monkeypatch.setenv(VARIABLE, reference(folder))
    document = run("neurons", "list", "--json").json
    [found] = document["neuron_packages"]
    assert (found["here"], found["agents"]) == ("usable", [])
    assert [each["name"] for each in found["parameters"]] == ["decay", "coupling", "gain"]
    assert not document["problems"]
    assert reference(folder) in run("neurons", "list", "--wide").out
