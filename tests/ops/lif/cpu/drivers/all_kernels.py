"""all_kernels.cc: what it is built from and what it prints."""

from __future__ import annotations

from pathlib import Path
from typing import Dict, List, Tuple

from ipulse_core.build_cache.toolchain import unity_sources
from ipulse_ops.lif.cpu import libraries

DRIVER = Path(__file__).with_name("all_kernels.cc")


def sources(directory: Path) -> List[Path]:
    """Each kernel, and in `directory` a file of what they share, so that headers are read once."""
    every = [
        path
        for path in sorted(libraries.SOURCES.rglob("*.cc"))
        if not path.stem.endswith(libraries.OP_SUFFIX)
    ]
    ends = (*libraries.SEPARATE, *libraries.ARCH_FLAGS)
    kernels = [path for path in every if path.stem.endswith(ends)]
    return [*kernels, *unity_sources(sorted({*every} - {*kernels}), directory, most=len(every))]


def results(output: str) -> Dict[str, Tuple[int, str]]:
    """Each kernel's spikes and a digest of the bits of all results, over the same cases."""
    rows = (line.split() for line in output.splitlines())
    return {name: (int(spikes), digest) for name, spikes, digest in rows}


def assert_agreement(actual: Dict[str, Tuple[int, str]]) -> None:
    """The same spikes, and membranes, gradients and weights that are equal to the bit."""
    assert set(actual.values()) == {actual["scalar"]}, actual
