"""Kernels that were built elsewhere: a machine without a compiler takes them, and nothing else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ipulse_ops.lif.cpu import native


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
    monkeypatch.setattr(native, "COMMON_FLAGS", (*native.COMMON_FLAGS, "-DOTHER"))
    with pytest.raises(native.MissingCompiler, match="apt-get install g"):
        native.build_kernels()
    assert built.exists()
