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


def results(output: str) -> Dict[str, Tuple[int, float]]:
    """Each kernel's spikes and sum of absolute gradients, over the same cases."""
    rows = (line.split() for line in output.splitlines())
    return {name: (int(spikes), float(gradients)) for name, spikes, gradients in rows}


def assert_agreement(actual: Dict[str, Tuple[int, float]]) -> None:
    """The same spikes, and gradients that differ by rounding."""
    spikes, gradients = actual["scalar"]
    assert spikes > 0
    assert gradients > 0
    for name, other in actual.items():
        assert other[0] == spikes, name
        assert abs(other[1] - gradients) < 1e-4 * gradients, name
