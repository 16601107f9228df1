"""Measure what each special path of the CPU kernels gives: a step's kernels with and without it.

    python -m benchmarks.training special-paths
    python -m benchmarks.training special-paths --path strassen --config B --rounds 15

Each path is switched off by an edit of a copy of the sources, which is compiled. Both libraries run
in one process in interleaved rounds. The step is a forward and a backward pass on arrays, with one
thread, and its CPU time is measured, so that other programs on the machine matter little.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import command_line
from benchmarks.common.tables import Row, finish
from benchmarks.training.network import SECOND_THRESHOLD, network_of
from benchmarks.training.workload import CLASSES, CONFIGS, draw
from ipulse_ops.lif.cpu import arrays, libraries, native
from ipulse_ops.lif.cpu.call import Call
from ipulse_ops.reference.spikes import dense_to_sparse

SECONDS = 0.06  # short steps are repeated for this long, and the fastest counts
# Freed arrays stay in the process, as TensorFlow's tensors do, so that pages are faulted in once.
HEAP = {"MALLOC_MMAP_THRESHOLD_": str(1 << 32), "MALLOC_TRIM_THRESHOLD_": str(1 << 40)}

# Edits that switch a path off: file below lif/cpu, text, replacement.
Edit = tuple[str, str, str]
PLAN = "passes/backward/layer_plan.cc"
MEMORY = "support/memory.cc"
PATHS: dict[str, tuple[Edit, ...]] = {
    "none": (),  # shows how exact the ratios are
    "strassen": (("passes/strassen/strassen.cc", "return n.steps &&", "return sums < 0 &&"),),
    "plain loops": (
        (PLAN, "return has_next &&", "return has_next && false &&"),
        ("passes/forward/forward.cc", "bool plain = n_.reset", "bool plain = false && n_.reset"),
    ),
    "deferred gradient": ((PLAN, "if (may_defer &&", "if (false && may_defer &&"),),
    "kept pages": ((MEMORY, "SMALL = size_t(1) << 16;", "SMALL = size_t(1) << 62;"),),
    "huge pages": ((MEMORY, ", MADV_HUGEPAGE);", ", MADV_NORMAL);"),),
}


def build(path: str, scratch: Path) -> ctypes.CDLL:
    """Compile the kernels without a path. Raises ValueError if an edit does not fit the sources."""
    root = scratch / path.replace(" ", "-") / "ipulse_ops"
    shutil.copytree(libraries.SOURCES.parents[1], root, ignore=shutil.ignore_patterns("*.py*"))
    for file, old, new in PATHS[path]:
        source = root / "lif" / "cpu" / file
        text = source.read_text("utf-8")
        if old not in text:
            raise ValueError(f"{path}: {file} does not contain {old!r}")
        source.write_text(text.replace(old, new), "utf-8")
    kept = libraries.SOURCES, libraries.INCLUDES
    libraries.SOURCES = root / "lif" / "cpu"
    libraries.INCLUDES = (f"-I{libraries.SOURCES}", f"-I{root}")
    native.library.cache_clear()
    library = native.library()
    libraries.SOURCES, libraries.INCLUDES = kept
    return library


class Step:
    """A training step's kernels, for any library."""

    def __init__(self, config: str, variant: str) -> None:
        work = draw(CONFIGS[config])
        network = network_of(work.config, variant)
        ids, counts = dense_to_sparse(work.spikes)
        self._given = (network, work.weights, ids.astype(np.int32), counts.astype(np.int32))
        grad = np.random.default_rng(1).standard_normal((work.config.batch, CLASSES))
        self._grad = np.repeat(grad[np.newaxis] / work.config.steps, work.config.steps, axis=0)
        self._grad = np.ascontiguousarray(self._grad, np.float32)

    def seconds(self, library: ctypes.CDLL) -> float:
        """Return the CPU seconds of the fastest of several steps."""
        native.library = lambda: library  # type: ignore[assignment]
        least, end = float("inf"), time.monotonic() + SECONDS
        while least == float("inf") or time.monotonic() < end:
            Timed.seconds = 0.0
            run = arrays.forward(*self._given, threads=1)
            arrays.backward(*self._given, run, self._grad, threads=1)
            least = min(least, Timed.seconds)
        return least


class Timed(Call):
    """A call that adds up the CPU seconds of the kernels."""

    seconds = 0.0

    def run(self, function: Any, argument: ctypes.Structure) -> None:
        """Run the call and add its CPU seconds."""
        start = time.thread_time()
        super().run(function, argument)
        Timed.seconds += time.thread_time() - start


def main(arguments: list[str]) -> None:
    """Run the command line."""
    parser = command_line.parser("training special-paths", __doc__)
    parser.add_argument("--path", choices=PATHS, action="append", help="default: all")
    parser.add_argument("--config", choices=list("ABCD"), action="append", help="default: all")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args(arguments)
    if not HEAP.items() <= os.environ.items():
        os.execve(sys.executable, [*sys.orig_argv], {**os.environ, **HEAP})  # noqa: S606
    arrays.Call = Timed  # type: ignore[misc]
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as scratch:
        baseline = native.library()
        without = {path: build(path, Path(scratch)) for path in options.path or PATHS}
        for config in options.config or "ABCD":
            for variant in SECOND_THRESHOLD:
                step = Step(config, variant)
                ratios: dict[str, list[float]] = {path: [] for path in without}
                for _ in range(options.rounds):
                    for path, library in without.items():
                        with_path = step.seconds(baseline)
                        ratios[path].append(step.seconds(library) / with_path)
                for path, found in ratios.items():
                    row = {"config": config, "variant": variant, "without": path}
                    rows.append({**row, "time_ratio": statistics.median(found)})
    finish(rows, options.output)
