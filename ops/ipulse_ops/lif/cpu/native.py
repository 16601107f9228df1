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
    """Whether the TensorFlow op library and the kernels are in the cache.

    Raises BuildFailed; ImportError without TensorFlow.
    """
    kernels = libraries.kernels().find()
    return kernels is not None and libraries.tensorflow_op(kernels).find() is not None


@lru_cache(maxsize=None)
def library() -> ctypes.CDLL:
    """liblif.so with the types of its functions declared; built if need be.

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
    """Bytes of the sets of neurons that a layer's forward pass leaves for the backward pass.

    gated: whether it has a second threshold.
    Raises MissingCompiler, BuildFailed.
    """
    threshold = (ctypes.c_float * 1)() if gated else None  # looked at for being there alone
    layer = abi.LifLayer(neurons=neurons, slots=slots, second_threshold=threshold)
    return 4 * int(library().lif_bits_words(steps, batch, ctypes.byref(layer)))


def built_by() -> str:
    """The version line of the compiler that built liblif.so, which need not be here any more.

    Raises MissingCompiler, BuildFailed.
    """
    return (build_kernels().parent / COMPILER_FILE).read_text("utf-8").splitlines()[0]


def timings() -> Dict[str, float]:
    """Seconds in the kernels and calls of them, by this process since it loaded them or since
    `reset_timings`: forward, backward, forward_calls, backward_calls."""
    now = library().lif_timings()
    return {
        "forward": now.forward_seconds,
        "backward": now.backward_seconds,
        "forward_calls": now.forward_calls,
        "backward_calls": now.backward_calls,
    }


def reset_timings() -> None:
    """Start `timings` again from zero."""
    library().lif_reset_timings()


def clock_phases(on: bool) -> None:
    """Start `phases` from zero, or stop it. While it is on, one call may run at a time."""
    library().lif_clock_phases(int(on))


def phases() -> Dict[str, List[float]]:
    """Of every function of a kernel (kernel.h) the seconds since `clock_phases`, added up over the
    threads, in each layer; the readout is the layer behind the last."""
    lib = library()
    found: Dict[str, List[float]] = {}
    seconds = (ctypes.c_double * abi.PHASE_LAYERS)()
    while True:
        name = lib.lif_phase_at(len(found), seconds)
        if name is None:
            return found
        found[name.decode()] = list(seconds)


def description(arch: Optional[int] = None, threads: int = 0) -> Dict[str, Any]:
    """What a call runs on: kernel (its name), cpu_mask, threads.

    arch: the CPU features it may use, None for all of this machine's.
    threads: as passed to the op; 0 becomes the number that it stands for.
    """
    lib = library()
    mask = supported_arch() if arch is None else arch & supported_arch()
    return {
        "kernel": lib.lif_kernel_name(mask).decode(),
        "cpu_mask": mask,
        "threads": threads or lib.lif_default_threads(),
    }


def supported_arch() -> int:
    """The CPU features of this machine that the kernels know, as the mask of arch.h."""
    return int(library().lif_supported_arch())


def kernels() -> Dict[str, int]:
    """Every kernel in kernels.inc and the CPU features it needs, whether or not they are here."""
    lib = library()
    found: Dict[str, int] = {}
    for index in range(lib.lif_kernel_count()):
        arch = ctypes.c_uint64()
        name = lib.lif_kernel_at(index, ctypes.byref(arch)).decode()
        found[name] = arch.value
    return found
