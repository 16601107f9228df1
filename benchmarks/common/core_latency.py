"""Measure the latency between two CPUs: a host may move them onto cores that share no cache.

Two threads that write for each other then take several times as long, which neither the load nor
the speed of a single CPU shows.
"""

from __future__ import annotations

import ctypes
import functools
import os
import subprocess
import tempfile
from pathlib import Path

from ipulse_core.build_cache.toolchain import compiler

SOURCE = Path(__file__).with_suffix(".cc")
FLAGS = ("-O2", "-std=c++17", "-pthread", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror")
# Measured: 84 to 110 ns between cores that share a cache, 324 to 354 ns between cores that do not.
FAR_NS = 200.0


def core_latency_ns() -> float:
    """Return the worst round trip of a cache line from this process's first CPU, in nanoseconds.

    0 if there is only one CPU. Raises MissingCompiler, CalledProcessError.
    """
    first, *others = sorted(os.sched_getaffinity(0))
    return max((_library().core_latency_ns(first, other) for other in others), default=0.0)


def are_far_apart() -> bool:
    """Return whether two of this process's CPUs share no cache now."""
    return core_latency_ns() > FAR_NS


@functools.cache
def _library() -> ctypes.CDLL:
    """Compile the library once per process and load it."""
    with tempfile.TemporaryDirectory() as scratch:
        built = Path(scratch) / "core_latency.so"
        subprocess.run([*compiler(), *FLAGS, SOURCE, "-o", built], check=True)
        library = ctypes.CDLL(str(built))
    library.core_latency_ns.argtypes = [ctypes.c_int, ctypes.c_int]
    library.core_latency_ns.restype = ctypes.c_double
    return library
