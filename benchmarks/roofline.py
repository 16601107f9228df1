"""What this machine can do, to hold each phase of a training step against.

    python -m benchmarks.roofline [--seconds 1]

A small C++ program (roofline.cc) measures multiply-adds from registers and, for each level of
memory, reading and adding in place; NumPy's sgemm is measured at the configs' shapes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import machine
from benchmarks.machine import Load
from benchmarks.results import DIRECTORY, Results
from ipulse_ops.lif.cpu.native import compiler

SOURCE = Path(__file__).with_name("roofline.cc")
FLAGS = ("-O3", "-march=native", "-std=c++17", "-pthread", "-Wall", "-Wextra", "-Werror")
SHAPES = ((6400, 1024, 1024), (64, 1024, 1024), (1600, 4096, 4096), (32, 4096, 4096))
UNITS = {"K": 2**10, "M": 2**20, "G": 2**30}
# Of each thread where a machine does not tell its caches.
FALLBACK = {"L1": 24 * 2**10, "L2": 2**19, "L3": 8 * 2**20}
DRAM_BYTES = 2**29

SGEMM = """
import json, sys, time
import numpy as np
found = {}
for m, k, n in json.loads(sys.argv[1]):
    a, b = np.ones((m, k), np.float32), np.ones((k, n), np.float32)
    c, best, end = a @ b, 1e9, time.perf_counter() + float(sys.argv[2])
    while time.perf_counter() < end:
        start = time.perf_counter()
        np.matmul(a, b, out=c)
        best = min(best, time.perf_counter() - start)
    found[f"sgemm {m}x{k}x{n}"] = 2e-9 * m * k * n / best
print(json.dumps(found))
"""


def footprints(caches: dict[str, str], cores: int) -> dict[str, int]:
    """Bytes of each thread that fit into half of each level: L1 and L2 are a core's own, L3 is
    shared by more than this machine's cores and only its lower end is sure to be had."""
    found = dict(FALLBACK)
    for name in ("L1", "L2"):
        if name in caches:
            found[name] = int(caches[name][:-1]) * UNITS[caches[name][-1]] // 2
    if "L3" in caches:
        total = int(caches["L3"][:-1]) * UNITS[caches["L3"][-1]]
        found["L3"] = max(4 * found["L2"], min(total // (4 * cores), 16 * 2**20))
    return {**found, "DRAM": DRAM_BYTES}


def measure(program: Path, threads: int, seconds: float) -> dict[str, float]:
    """GFLOP/s and GB/s by name."""
    processors = sorted(os.sched_getaffinity(0))[:threads]
    levels = footprints(machine.description()["caches"], threads)
    command = [program, str(threads), str(seconds), *(str(size) for size in levels.values())]

    def pin() -> None:
        os.sched_setaffinity(0, processors)

    told = subprocess.run(command, check=True, capture_output=True, text=True, preexec_fn=pin)
    pairs = (line.split() for line in told.stdout.splitlines())
    found = {name: float(value) for name, value in pairs}
    products = subprocess.run(
        [sys.executable, "-c", SGEMM, json.dumps(SHAPES), str(seconds)],
        check=True,
        capture_output=True,
        text=True,
        preexec_fn=pin,
    )
    return {**found, **json.loads(products.stdout)}


def build(directory: Path) -> Path:
    """The C++ program, compiled. Raises MissingCompiler, CalledProcessError."""
    program = directory / "roofline"
    subprocess.run([*compiler(), *FLAGS, SOURCE, "-o", program], check=True)
    return program


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks.roofline",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seconds", type=float, default=1.0, help="of each of 13 figures")
    options = parser.parse_args(arguments)
    results = Results("roofline", ("threads",), {}, DIRECTORY)
    with tempfile.TemporaryDirectory() as scratch:
        program = build(Path(scratch))
        for threads in range(1, len(os.sched_getaffinity(0)) + 1):
            before = Load.now([os.getpid()])
            figures: dict[str, Any] = measure(program, threads, options.seconds)
            load = before.until(Load.now([os.getpid()]))
            results.put({"threads": threads, "figures": figures, "others_load": load})
            print(
                f"{threads}: " + ", ".join(f"{k} {v:.1f}" for k, v in figures.items()), flush=True
            )


if __name__ == "__main__":
    main()
