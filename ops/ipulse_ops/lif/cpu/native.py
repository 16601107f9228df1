"""Builds the C++ kernels and the TensorFlow op on first use, and loads them."""

from __future__ import annotations

import ctypes
from functools import lru_cache
from pathlib import Path
from typing import Any, Dict, List, Optional

from ipulse_core.build_cache.directory import cache_directory as cache_directory
from ipulse_core.build_cache.progress import ProgressCallback, print_progress
from ipulse_core.build_cache.shared_library import COMPILER_FILE
from ipulse_core.build_cache.toolchain import BuildFailed as BuildFailed
from ipulse_core.build_cache.toolchain import MissingCompiler as MissingCompiler
from ipulse_core.build_cache.toolchain import NativeError as NativeError
from ipulse_core.build_cache.toolchain import compiler as compiler
from ipulse_ops.lif.cpu import abi, libraries


def build_kernels(progress: ProgressCallback = print_progress) -> Path:
    """Return the path of liblif.so; build it if it is not in the cache.

    progress: called before a build, after each of its steps and while another process builds.
    Raises MissingCompiler, BuildFailed.
    """
    return libraries.kernels().build(progress)


def build_tensorflow_op(progress: ProgressCallback = print_progress) -> Path:
    """Return the path of the TensorFlow op library; build it if it is not in the cache.

    It is built for the installed TensorFlow and loads liblif.so by a relative path.
    Raises MissingCompiler, BuildFailed; ImportError without TensorFlow.
    """
    return libraries.tensorflow_op(build_kernels(progress)).build(progress)


def is_tensorflow_op_built() -> bool:
    """Return True if the TensorFlow op library and the kernels are built.

    Raises BuildFailed; ImportError without TensorFlow.
    """
    kernels = libraries.kernels().find()
    return kernels is not None and libraries.tensorflow_op(kernels).find() is not None


@lru_cache(maxsize=None)
def library() -> ctypes.CDLL:
    """Load liblif.so and declare the types of its functions; build it if necessary.

    Raises MissingCompiler, BuildFailed.
    """
    lib = ctypes.CDLL(str(build_kernels()))
    lib.lif_bits_words.restype = ctypes.c_size_t
    lib.lif_timings.restype = Timings
    lib.lif_supported_arch.restype = ctypes.c_uint64
    lib.lif_kernel_name.restype = ctypes.c_char_p
    lib.lif_kernel_name.argtypes = [ctypes.c_uint64]
    lib.lif_phase_at.restype = ctypes.c_char_p
    lib.lif_phase_at.argtypes = [ctypes.c_int32, ctypes.POINTER(ctypes.c_double)]
    lib.lif_kernel_at.restype = ctypes.c_char_p
    lib.lif_kernel_at.argtypes = [ctypes.c_int32, ctypes.POINTER(ctypes.c_uint64)]
    return lib


class Timings(ctypes.Structure):
    """LifTimings of lif.h."""

    _fields_ = (
        ("forward_seconds", ctypes.c_double),
        ("backward_seconds", ctypes.c_double),
        ("forward_calls", ctypes.c_int64),
        ("backward_calls", ctypes.c_int64),
    )


def bits_bytes(steps: int, batch: int, neurons: int, slots: int, gated: bool) -> int:
    """Return the bytes of the sets of neurons that a layer's forward pass stores.

    gated: True if the layer has a second threshold.
    Raises MissingCompiler, BuildFailed.
    """
    threshold = (ctypes.c_float * 1)() if gated else None  # only its presence counts
    layer = abi.LifLayer(neurons=neurons, slots=slots, second_threshold=threshold)
    return 4 * int(library().lif_bits_words(steps, batch, ctypes.byref(layer)))


def built_by() -> str:
    """Return the version line of the compiler that built liblif.so.

    Raises MissingCompiler, BuildFailed.
    """
    return (build_kernels().parent / COMPILER_FILE).read_text("utf-8").splitlines()[0]


def timings() -> Dict[str, float]:
    """Return this process's seconds in the kernels and its calls since `reset_timings`.

    The keys are forward, backward, forward_calls, backward_calls.
    """
    now = library().lif_timings()
    return {
        "forward": now.forward_seconds,
        "backward": now.backward_seconds,
        "forward_calls": now.forward_calls,
        "backward_calls": now.backward_calls,
    }


def reset_timings() -> None:
    """Reset `timings` to zero."""
    library().lif_reset_timings()


def clock_phases(on: bool) -> None:
    """Reset and start `phases`, or stop it. While it is on, one call may run at a time."""
    library().lif_clock_phases(int(on))


def phases() -> Dict[str, List[float]]:
    """Return the seconds in each function of a kernel (kernel.h) since `clock_phases`.

    A list has one entry per layer, then the readout, summed over threads.
    """
    lib = library()
    found: Dict[str, List[float]] = {}
    seconds = (ctypes.c_double * abi.PHASE_LAYERS)()
    while True:
        name = lib.lif_phase_at(len(found), seconds)
        if name is None:
            return found
        found[name.decode()] = list(seconds)


def description(arch: Optional[int] = None, threads: int = 0) -> Dict[str, Any]:
    """Return the kernel's name, the cpu_mask and the number of threads of a call.

    arch: mask of CPU features to use, None for all of this machine's.
    threads: as passed to the op; 0 is replaced by the number that it stands for.
    """
    lib = library()
    mask = supported_arch() if arch is None else arch & supported_arch()
    return {
        "kernel": lib.lif_kernel_name(mask).decode(),
        "cpu_mask": mask,
        "threads": threads or lib.lif_default_threads(),
    }


def supported_arch() -> int:
    """Return the CPU features of this machine that kernels use, as the mask of arch.h."""
    return int(library().lif_supported_arch())


def kernels() -> Dict[str, int]:
    """Return every kernel of kernels.inc with the CPU features that it needs."""
    lib = library()
    found: Dict[str, int] = {}
    for index in range(lib.lif_kernel_count()):
        arch = ctypes.c_uint64()
        name = lib.lif_kernel_at(index, ctypes.byref(arch)).decode()
        found[name] = arch.value
    return found
