"""Builds the library of sparse ops on first use, and loads it."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import tensorflow as tf

from ipulse_core.build_cache.progress import ProgressCallback, print_progress
from ipulse_core.build_cache.shared_library import SharedLibrary, tensorflow_flags
from ipulse_core.build_cache.toolchain import WARNINGS
from ipulse_ops import SHARED_HEADERS
from ipulse_ops.unsupported import refuse_xla

SOURCES = Path(__file__).resolve().parent / "kernels"

# -ffp-contract=off: each product and sum is rounded, so that every machine gives the same bits.
FLAGS = ("-O3", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off", *WARNINGS)


def build(progress: ProgressCallback = print_progress) -> Path:
    """Return the path of the op library for the installed TensorFlow; build it if need be.

    Raises MissingCompiler, BuildFailed.
    """
    flags, link = tensorflow_flags()
    return SharedLibrary(
        name=f"sparse-{tf.__version__}",
        file="libsparsetf.so",
        sources=sorted(SOURCES.glob("*.cc")),
        headers=sorted([*SOURCES.glob("*.h"), *SHARED_HEADERS]),
        flags=(*flags, *FLAGS),
        link=link,
    ).build(progress)


def library() -> Any:
    """Return the library of ops. The modules that call them register their gradients.

    Raises NotImplementedError under XLA; MissingCompiler, BuildFailed.
    """
    refuse_xla()
    return _loaded()


@lru_cache(maxsize=None)
def _loaded() -> Any:
    return tf.load_op_library(str(build()))
