"""Compiles the C++ of a layer with equations, once per source and compiler, and calls it."""

from __future__ import annotations

import ctypes
import hashlib
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from ipulse_core.build_cache.build_once import Steps, build_once
from ipulse_core.build_cache.directory import cache_directory
from ipulse_core.build_cache.progress import ProgressCallback, print_progress
from ipulse_core.build_cache.toolchain import WARNINGS, compiler, run_compiler, version_of
from ipulse_core.build_cache.unused_builds import mark_used
from ipulse_ops.equations.layer_equations import LayerEquations, spread
from ipulse_ops.equations.source import GENERATOR, kernel_source
from ipulse_ops.lif.cpu import native
from ipulse_ops.lif.cpu.libraries import AVX512_FLAGS

LIBRARY, SOURCE = "libequations.so", "equations.cc"
# -ffp-contract=off: each product and sum is rounded, so that every machine gives the same bits.
FLAGS = (
    *("-std=c++17", "-O3", "-fPIC", "-shared", "-fvisibility=default"),
    *("-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"),
    *WARNINGS,
    *("-Wno-unknown-pragmas", "-Wno-unused-variable", "-Wno-unused-parameter"),
)
_ALIGNMENT = 16  # numbers, 64 bytes
_SECONDS = {"forward": 0.0, "backward": 0.0}  # of all kernels of the process
# Instructions for vectors, by the name of the kernel of LIF layers that a CPU uses.
VECTORS = {
    "x86_avx2": ("-mavx2",),
    "x86_avx512": AVX512_FLAGS,
}
_FUNCTIONS = {"forward": (9, 7), "backward": (13, 6)}  # how many arrays and numbers each takes


def build_equations(
    layer: LayerEquations,
    progress: ProgressCallback = print_progress,
    cpu: Optional[str] = None,
) -> Path:
    """Return the path of the library of a layer; build it if it is not in the cache.

    cpu: a key of VECTORS, on which results do not depend; by default that of this machine.

    Raises MissingCompiler, BuildFailed.
    """
    source, command = kernel_source(layer), compiler()
    flags = (*FLAGS, *VECTORS.get(native.description()["kernel"] if cpu is None else cpu, ()))
    made_by = repr((GENERATOR, command, version_of(command), flags))
    directory = cache_directory() / f"equations-{hash_of(source)}-{hash_of(made_by)}"

    def make(complete: Path, scratch: Path, steps: Steps) -> None:
        steps.begin(1)
        written = complete / SOURCE
        written.write_text(source, "utf-8")
        run_compiler([*command, *flags, str(written), "-o", str(complete / LIBRARY)])
        steps.finish_one()

    if not (mark_used(directory) and (directory / LIBRARY).exists()):
        build_once("the equations of a layer", "equations", directory, LIBRARY, make, progress)
    return directory / LIBRARY


def timings() -> Dict[str, float]:
    """Return the seconds that this process has spent in kernels of equations, by pass."""
    return dict(_SECONDS)


class Senders(NamedTuple):
    """Which of the neurons that spike send to the neurons of a recurrent layer."""

    capacity: int  # how many at most
    firsts: np.ndarray  # int64 [time, batch]: chosen ascending from this one on; -1: the highest


class KernelTrace(NamedTuple):
    """The results of the forward pass."""

    x: np.ndarray  # float32 [time, batch, neurons]
    states: np.ndarray  # float32 [time + 1, batch, states, neurons]; of one step if not kept
    first_bad_step: int  # of a value that is not finite; -1: none
    current: np.ndarray  # that of the senders, and in a recurrent layer of its own spikes


class SpikeTrace(NamedTuple):
    """The results of the forward pass as spikes; each neuron that carries gradient has a slot."""

    ids: np.ndarray  # float32 [time, batch, neurons]: those that spike, the others, zeros
    counts: np.ndarray  # float32 [time, batch, 2]: spikes, filled slots
    states: np.ndarray  # as in KernelTrace
    first_bad_step: int
    current: np.ndarray


class EquationsKernel:
    """Runs a layer with equations in float32 on the CPU."""

    def __init__(self, layer: LayerEquations, threads: int = 1, cpu: Optional[str] = None) -> None:
        """Build the layer's library, unless it is cached, and load it.

        threads: the samples of a batch are divided between them; the results do not depend on it.
        cpu: as of build_equations.

        Raises MissingCompiler, BuildFailed.
        """
        self.layer = layer
        self._threads = max(1, threads)
        library = ctypes.CDLL(str(build_equations(layer, cpu=cpu)))
        self._calls: Dict[str, Any] = {}
        for name, (arrays, numbers) in _FUNCTIONS.items():
            function = getattr(library, f"ipulse_equations_{name}")
            function.restype = ctypes.c_int64
            function.argtypes = [ctypes.c_void_p] * arrays + [ctypes.c_int64] * numbers
            self._calls[name] = function
        self._pool: Optional[ThreadPoolExecutor] = None
        self.seconds = dict.fromkeys(_FUNCTIONS, 0.0)

    def forward(
        self,
        parameters: np.ndarray,
        current: np.ndarray,
        keep: bool = True,
        recurrent: Optional[np.ndarray] = None,
        senders: Optional[Senders] = None,
    ) -> KernelTrace:
        """Run the layer.

        parameters: float32 `[parameters, neurons]`.
        current: float32 `[time, batch, neurons]`.
        keep: whether to return the states of every step, as `backward` needs them.
        recurrent: float32, in the shape of the layer's recurrent weights; None: it has none.
        senders: of a recurrent layer with a capacity; None: all neurons that spike.
        """
        x = aligned(current.shape)
        states, bad, current = self._forward(
            parameters, current, keep, recurrent, x, [None, None], senders
        )
        return KernelTrace(x, states, bad, current)

    def spikes(
        self,
        parameters: np.ndarray,
        current: np.ndarray,
        keep: bool = True,
        recurrent: Optional[np.ndarray] = None,
    ) -> SpikeTrace:
        """Run the layer as `forward` does, and list its spikes."""
        steps, batch, neurons = current.shape
        ids, counts = aligned(current.shape), aligned((steps, batch, 2))
        x = aligned((batch, neurons))
        found = self._forward(parameters, current, keep, recurrent, x, [ids, counts])
        return SpikeTrace(ids, counts, *found)

    def _forward(
        self,
        parameters: np.ndarray,
        current: np.ndarray,
        keep: bool,
        recurrent: Optional[np.ndarray],
        x: np.ndarray,
        lists: List[Optional[np.ndarray]],
        senders: Optional[Senders] = None,
    ) -> Tuple[np.ndarray, int, np.ndarray]:
        neuron = self.layer.neuron
        steps, batch, neurons = current.shape
        states = aligned(((steps + 1) if keep else 1, batch, len(neuron.states), neurons))
        states[0] = np.asarray(neuron.initial, np.float32)[:, None]
        if recurrent is not None:
            current = current.copy()
        arrays: List[Any] = [current, parameters, x, states, recurrent, *lists]
        arrays += [None, None] if senders is None else [aligned((batch, neurons)), senders.firsts]
        capacity = 0 if senders is None else senders.capacity
        found = self._run("forward", arrays, current.shape, int(keep), capacity)
        bad = min((step for step in found if step >= 0), default=-1)
        return states, bad, current

    def backward(
        self,
        parameters: np.ndarray,
        current: np.ndarray,
        states: np.ndarray,
        by_spikes: np.ndarray,
        recurrent: Optional[np.ndarray] = None,
        lists: Optional[Tuple[np.ndarray, np.ndarray]] = None,
        slots: Optional[np.ndarray] = None,
    ) -> Tuple[np.ndarray, np.ndarray, int]:
        """Return the gradients of the current and of the trained parameters.

        lists: ids and counts of `spikes`, if `by_spikes` are those of slots.
        slots: float32, the shape of the current: of a recurrent layer with a capacity 1 for neurons
            in slots, through which gradients pass to the step before, else 0.

        current, states: of the forward pass's KernelTrace.

        The latter are float64 `[trained, neurons]`, sums over samples in their order. The third
        value is the last step at which the gradient is not finite, or -1.
        """
        neuron = self.layer.neuron
        _, batch, neurons = current.shape
        by_current = aligned(current.shape)
        carry = np.zeros((batch, len(neuron.states), neurons), np.float32)
        sums = np.zeros((batch, len(neuron.trained), neurons), np.float64)
        received = None if recurrent is None else np.zeros((batch, neurons), np.float32)
        senders = None
        if recurrent is not None:
            senders = np.ascontiguousarray(np.swapaxes(recurrent, -1, -2))
        taken = None if lists is None else aligned((batch, neurons))
        arrays: List[Any] = [current, parameters, states, by_spikes, by_current, carry, sums]
        arrays += [senders, received, *(lists or (None, None)), taken, slots]
        found = self._run("backward", arrays, current.shape, self.layer.truncate or 0)
        total = np.zeros(sums.shape[1:])
        for sample in sums:
            total += sample
        return by_current, total, max(found, default=-1)

    def _run(self, name: str, arrays: Sequence[Any], shape: Any, *numbers: int) -> List[int]:
        pointers = [
            None if array is None else ctypes.c_void_p(array.ctypes.data) for array in arrays
        ]
        steps, batch, neurons = shape
        parts = min(self._threads, batch)
        bounds = [part * batch // parts for part in range(parts + 1)] if parts else [0]
        call: Callable[..., int] = self._calls[name]

        def run(part: int) -> int:
            begin, end = bounds[part], bounds[part + 1]
            return call(*pointers, steps, batch, neurons, begin, end, *numbers)

        start = time.perf_counter()
        if parts <= 1:
            found = [run(part) for part in range(parts)]
        else:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self._threads)
            found = list(self._pool.map(run, range(parts)))
        spent = time.perf_counter() - start
        self.seconds[name] += spent
        _SECONDS[name] += spent
        return found


def stacked(layer: LayerEquations, parameters: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return parameters by name as float32 `[parameters, neurons]`."""
    rows = [
        spread(np.asarray(parameters[each.name], np.float32), layer.neurons)
        for each in layer.neuron.parameters
    ]
    return np.array(rows, np.float32).reshape(len(rows), layer.neurons)


def aligned(shape: Tuple[int, ...]) -> np.ndarray:
    """Return an empty float32 array that TensorFlow takes over without a copy."""
    size = int(np.prod(shape))
    memory = np.empty(size + _ALIGNMENT, np.float32)
    first = -memory.ctypes.data // memory.itemsize % _ALIGNMENT
    return memory[first : first + size].reshape(shape)


def hash_of(text: str) -> str:
    """Return 16 hexadecimal digits of a hash, for the name of a build."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]
