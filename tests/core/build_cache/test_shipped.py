"""A library in a wheel is used if it fits the installed sources and this machine."""

from __future__ import annotations

import ctypes
import dataclasses
import os
import shutil
from pathlib import Path
from typing import Any, Dict

import pytest

from ipulse_core.build_cache.shared_library import SharedLibrary
from ipulse_core.build_cache.shipped import FOLDER, add_to_wheel
from ipulse_core.build_cache.toolchain import MissingCompiler


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SharedLibrary:
    """A recipe in a package that ships it. Afterwards there is no compiler."""
    monkeypatch.setenv("IPULSE_CACHE", str(tmp_path / "cache"))
    package = tmp_path / "package"
    package.mkdir()
    source = package / "one.cc"
    source.write_text('extern "C" int one() { return 1; }\n')
    recipe = SharedLibrary("one", "libone.so", [source], [], ["-fPIC"], shipped=package / FOLDER)
    recipe.ship(package / FOLDER)
    shutil.rmtree(tmp_path / "cache")
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", os.devnull)
    return recipe


def test_a_shipped_library_needs_no_compiler(library: SharedLibrary, tmp_path: Path) -> None:
    path = library.build()
    assert path == tmp_path / "package" / FOLDER / "libone.so"
    assert ctypes.CDLL(str(path)).one() == 1
    assert not (tmp_path / "cache").exists()


def test_other_sources_are_compiled(library: SharedLibrary) -> None:
    library.sources[0].write_text('extern "C" int one() { return 2; }\n')
    assert library.find() is None
    with pytest.raises(MissingCompiler):
        library.build()


def test_other_flags_are_compiled(library: SharedLibrary) -> None:
    assert dataclasses.replace(library, flags=["-fPIC", "-O1"]).find() is None


def test_a_library_that_cannot_be_loaded_is_ignored(library: SharedLibrary) -> None:
    assert library.shipped is not None
    (library.shipped / "libone.so").write_bytes(b"of another machine")
    assert library.find() is None


def test_a_wheel_with_a_library_is_for_its_platform(tmp_path: Path) -> None:
    build_data: Dict[str, Any] = {"force_include": {}, "pure_python": True}
    add_to_wheel(build_data, tmp_path, "package/native")
    assert build_data["force_include"] == {str(tmp_path): "package/native/shipped"}
    assert not build_data["pure_python"]
    assert build_data["tag"].startswith("py3-none-linux_")
