"""Kernels that were built elsewhere: a machine without a compiler takes them, and nothing else."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Iterator

import pytest

from ops.lif.cpu import native


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Kernels in a cache of their own; afterwards there is no compiler on PATH."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IPULSE_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.delenv("CXX", raising=False)
        library = native.build_kernels()
        patch.setenv("PATH", os.devnull)
        yield library


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
