"""How far apart the processors are that a measurement runs on.

A host may place the processors of one guest on cores that share a cache, or on cores that do not,
and change that every few minutes. What two threads write for each other then takes several times as
long, which no load and no speed of a single processor tells.
"""

from __future__ import annotations

import ctypes
import functools
import os
import subprocess
import tempfile
from pathlib import Path

from ipulse_ops.lif.cpu.native import compiler

SOURCE = Path(__file__).with_suffix(".cc")
FLAGS = ("-O2", "-std=c++17", "-pthread", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror")
# docs/performance.md has what was found: less than half of this within a cache that cores share,
# more than one and a half times as much between caches.
FAR_NS = 200.0


def exchange_ns() -> float:
    """Nanoseconds that a cache line takes from this process's first processor to another and back:
    the most of the others', 0 if there are none. Raises MissingCompiler, CalledProcessError."""
    first, *others = sorted(os.sched_getaffinity(0))
    return max((_library().exchange_ns(first, other) for other in others), default=0.0)


def are_far() -> bool:
    """Whether two of this process's processors share no cache at this moment."""
    return exchange_ns() > FAR_NS


@functools.cache
def _library() -> ctypes.CDLL:
    """Compiled once for each process that asks."""
    with tempfile.TemporaryDirectory() as scratch:
        built = Path(scratch) / "exchange.so"
        subprocess.run([*compiler(), *FLAGS, SOURCE, "-o", built], check=True)
        library = ctypes.CDLL(str(built))
    library.exchange_ns.argtypes = [ctypes.c_int, ctypes.c_int]
    library.exchange_ns.restype = ctypes.c_double
    return library
