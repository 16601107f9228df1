"""Recipes of the two libraries that run LIF networks on CPUs.

liblif.so holds the kernels and knows nothing of TensorFlow; a wheel may contain it. libliftf.so is
the thin layer that registers them as TensorFlow ops; it is compiled for the installed TensorFlow.
This module needs the standard library alone, because it also runs while a wheel is built.
"""

from __future__ import annotations

from pathlib import Path
from typing import Dict, List, Tuple

from ipulse_core.build_cache.directory import cache_directory
from ipulse_core.build_cache.shared_library import SharedLibrary, tensorflow_flags
from ipulse_core.build_cache.shipped import FOLDER
from ipulse_core.build_cache.toolchain import WARNINGS
from ipulse_ops import SHARED_HEADERS

SOURCES = Path(__file__).resolve().parent
INCLUDES = (f"-I{SOURCES}", f"-I{SOURCES.parents[1]}")
SHIPPED = SOURCES / FOLDER  # in a wheel: liblif.so and the recipe that it was built from

# -ffp-contract=off: the forward pass rounds each product and each sum, so that every instruction
# set yields the same bits (lif.h). Fused multiply-adds are written out where they are wanted.
COMMON_FLAGS = (
    *("-O3", "-fPIC", "-pthread", "-fvisibility=hidden", "-ffp-contract=off"),
    *WARNINGS,
)
OP_SUFFIX = "_op"  # ends the names of files that need TensorFlow
# On a CPU with AVX2 but without prefetchw, that instruction has no effect.
AVX2_FLAGS = ("-mavx2", "-mfma", "-mbmi2", "-mpopcnt", "-mprfchw")
AVX512_FLAGS = ("-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl")
# Flags by the end of a file's name: the instructions that its kernel may use.
ARCH_FLAGS: Dict[str, Tuple[str, ...]] = {
    "_avx2": AVX2_FLAGS,
    "_avx512": (*AVX2_FLAGS, *AVX512_FLAGS),
}
# Kernels without flags of their own. Each takes long enough to be compiled separately.
SEPARATE = ("scalar", "arm_neon")


def kernels() -> SharedLibrary:
    """Return the recipe of liblif.so."""
    return SharedLibrary(
        name="kernels",
        file="liblif.so",
        sources=[
            path for path in sorted(SOURCES.rglob("*.cc")) if not path.stem.endswith(OP_SUFFIX)
        ],
        headers=[path for path in _headers() if not path.stem.endswith(OP_SUFFIX)],
        flags=("-std=c++17", *COMMON_FLAGS),
        includes=INCLUDES,
        arch_flags=ARCH_FLAGS,
        separate=SEPARATE,
        shipped=SHIPPED,
    )


def tensorflow_op(built_kernels: Path) -> SharedLibrary:
    """Return the recipe of libliftf.so for the installed TensorFlow.

    built_kernels: the path of liblif.so, which it loads.
    Raises ImportError without TensorFlow.
    """
    import tensorflow as tf  # here, because the kernels need no TensorFlow

    flags, link = tensorflow_flags()
    directory = built_kernels.parent
    # A relative path inside the cache, so that the cache can be moved.
    in_cache = directory.parent == cache_directory()
    rpath = f"-Wl,-rpath,{f'$ORIGIN/../{directory.name}' if in_cache else directory}"
    return SharedLibrary(
        name=f"tensorflow-{tf.__version__}",
        file="libliftf.so",
        sources=sorted(SOURCES.rglob(f"*{OP_SUFFIX}.cc")),
        headers=_headers(),
        flags=(*flags, *COMMON_FLAGS),
        includes=INCLUDES,
        link=(*link, "-llif", rpath),
        link_directories=[directory],
        separate=(),
    )


def _headers() -> List[Path]:
    own = [path for path in sorted(SOURCES.rglob("*")) if path.suffix in (".h", ".inc")]
    return [*own, *SHARED_HEADERS]
