"""Kernels that were built elsewhere: a machine without a compiler takes them, and nothing else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ipulse_ops.lif.cpu import libraries, native


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The kernels, and afterwards there is no compiler on PATH."""
    monkeypatch.delenv("CXX", raising=False)
    library = native.build_kernels()
    monkeypatch.setenv("PATH", os.devnull)
    return library


def test_the_same_sources_need_no_compiler(built: Path) -> None:
    with pytest.raises(native.MissingCompiler):
        native.compiler()
    assert native.build_kernels() == built
    assert native.built_by() == (built.parent / "compiler.txt").read_text().splitlines()[0]


def test_other_sources_do(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libraries, "COMMON_FLAGS", (*libraries.COMMON_FLAGS, "-DOTHER"))
    with pytest.raises(native.MissingCompiler, match="apt-get install g"):
        native.build_kernels()
    assert built.exists()


def test_a_wheel_ships_the_kernels_of_its_sources(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = tmp_path / "shipped"
    libraries.kernels().ship(shipped)
    monkeypatch.setattr(libraries, "SHIPPED", shipped)
    monkeypatch.setenv("IPULSE_CACHE", str(tmp_path / "empty"))
    assert native.build_kernels() == shipped / "liblif.so"
    assert native.built_by() == (built.parent / "compiler.txt").read_text().splitlines()[0]
    (shipped / "recipe.txt").write_text("another")
    with pytest.raises(native.MissingCompiler):
        native.build_kernels()
