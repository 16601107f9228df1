"""The C++ kernels on NumPy arrays, without TensorFlow: what tests and other frameworks call."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any, List, Optional, Sequence, Tuple, Union

import numpy as np

from ops.lif.cpu import native
from ops.lif.cpu.supported import check_supported
from ops.lif.network import LIF, LeakyReadout, Network, per_neuron

VERSION = 1  # LIF_ABI_VERSION of lif.h
RESET_GRADIENT = {"mask": 0, "term": 1}
SUPERSPIKE = 0

_float_p = ctypes.POINTER(ctypes.c_float)
_int32_p = ctypes.POINTER(ctypes.c_int32)
_uint32_p = ctypes.POINTER(ctypes.c_uint32)
_OUT_OF_MEMORY = 2  # LIF_OUT_OF_MEMORY in lif.h


class _Layer(ctypes.Structure):
    _fields_ = (
        ("neurons", ctypes.c_int32),
        ("slots", ctypes.c_int32),
        ("decay", _float_p),
        ("scale", _float_p),
        ("threshold", _float_p),
        ("second_threshold", _float_p),
        ("weights", _float_p),
    )


class _Network(ctypes.Structure):
    _fields_ = (
        ("version", ctypes.c_uint32),
        ("steps", ctypes.c_int32),
        ("batch", ctypes.c_int32),
        ("inputs", ctypes.c_int32),
        ("input_slots", ctypes.c_int32),
        ("layers", ctypes.c_int32),
        ("delay", ctypes.c_int32),
        ("reset_gradient", ctypes.c_int32),
        ("surrogate", ctypes.c_int32),
        ("slope", ctypes.c_float),
        ("threads", ctypes.c_int32),
        ("arch", ctypes.c_uint64),
        ("ids", _int32_p),
        ("counts", _int32_p),
        ("layer", ctypes.POINTER(_Layer)),
    )


class _Record(ctypes.Structure):
    _fields_ = (
        ("bits", _uint32_p),
        ("membranes", _float_p),
        ("membranes_size", ctypes.c_size_t),
    )


_Allocate = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32, ctypes.c_size_t)


class _Forward(ctypes.Structure):
    _fields_ = (
        ("version", ctypes.c_uint32),
        ("keep", ctypes.c_int32),
        ("membrane", _float_p),
        ("bits", ctypes.POINTER(_uint32_p)),
        ("counts", ctypes.POINTER(_float_p)),
        ("dropped", ctypes.POINTER(_float_p)),
        ("context", ctypes.c_void_p),
        ("allocate", _Allocate),
    )


class _Backward(ctypes.Structure):
    _fields_ = (
        ("version", ctypes.c_uint32),
        ("record", ctypes.POINTER(_Record)),
        ("grad_membrane", _float_p),
        ("grad_spikes", ctypes.POINTER(_float_p)),
        ("grad_weights", ctypes.POINTER(_float_p)),
    )


@dataclass(frozen=True)
class LayerRun:
    """What one hidden layer did."""

    spike_ids: np.ndarray  # int32 [time, batch, slots]: spiking, then gradient-only, then zeros
    spike_counts: np.ndarray  # int32 [time, batch, 2]: spikes, spikes and gradient-only neurons
    dropped: np.ndarray  # int32 [time, batch]: spiking neurons without a slot
    bits: np.ndarray  # uint32, for `backward`
    membranes: np.ndarray  # float32, for `backward`; empty if nothing was kept


@dataclass(frozen=True)
class Run:
    """What a network did over a whole sequence."""

    membrane: np.ndarray  # float32 [time, batch, classes], of the readout
    layers: Tuple[LayerRun, ...]


def constants(
    layer: Union[LIF, LeakyReadout],
) -> Tuple[np.ndarray, np.ndarray, Optional[np.ndarray], Optional[np.ndarray]]:
    """decay, gain * (1 - decay), threshold and second threshold as float32 `[neurons]`.

    The scale is rounded once, from float64. A readout has no thresholds.
    """
    decay = per_neuron(layer.decay, layer.neurons, "decay")
    scale = per_neuron(layer.gain, layer.neurons, "gain") * (1 - decay)
    threshold = second = None
    if isinstance(layer, LIF):
        threshold = per_neuron(layer.threshold, layer.neurons, "threshold").astype(np.float32)
        if layer.second_threshold is not None:
            second = per_neuron(layer.second_threshold, layer.neurons, "second_threshold")
            second = second.astype(np.float32)
    return decay.astype(np.float32), scale.astype(np.float32), threshold, second


def forward(
    network: Network,
    weights: Sequence[np.ndarray],
    ids: np.ndarray,
    counts: np.ndarray,
    threads: int = 0,
    arch: Optional[int] = None,
    keep: bool = True,
) -> Run:
    """Run the network from rest on the input spikes ids int32 `[time, batch, slots]`, counts int32
    `[time, batch]`.

    weights: one float32 `[N_in, N_out]` per layer and one for the readout.
    threads: 0 for as many as the process may run on; results do not depend on it.
    arch: CPU features that may be used, None for all of this machine's.
    keep: whether `backward` will be called.

    Raises UnsupportedNetwork; ValueError if shapes, dtypes or ids do not fit the network.
    """
    call = _Call(network, weights, ids, counts, threads, arch)
    steps, batch = ids.shape[:2]
    membrane = np.empty((steps, batch, network.readout.neurons), np.float32)
    pairs = [np.empty((steps, batch, 2), np.float32) for _ in network.layers]
    dropped = [np.empty((steps, batch), np.float32) for _ in network.layers]
    bits = [np.empty(call.bits_words(n, steps, batch), np.uint32) for n in range(len(pairs))]
    membranes = [np.empty(0, np.float32) for _ in network.layers]

    def allocate(_: Any, layer: int, floats: int) -> int:
        membranes[layer] = np.empty(max(floats, 1), np.float32)[:floats]
        return int(membranes[layer].ctypes.data)

    result = _Forward(
        version=VERSION,
        keep=int(keep),
        membrane=_floats(membrane),
        bits=(_uint32_p * len(bits))(*(array.ctypes.data_as(_uint32_p) for array in bits)),
        counts=_float_pointers(pairs),
        dropped=_float_pointers(dropped),
        allocate=_Allocate(allocate),
    )
    call.run(native.library().lif_forward, result)
    layers = []
    for number, layer in enumerate(network.layers):
        spike_ids = np.empty((steps, batch, layer.slots), np.float32)
        call.slots(number, steps, batch, bits[number], spike_ids)
        layers.append(
            LayerRun(
                spike_ids=spike_ids.astype(np.int32),
                spike_counts=pairs[number].astype(np.int32),
                dropped=dropped[number].astype(np.int32),
                bits=bits[number],
                membranes=membranes[number],
            )
        )
    return Run(membrane=membrane, layers=tuple(layers))


def backward(
    network: Network,
    weights: Sequence[np.ndarray],
    ids: np.ndarray,
    counts: np.ndarray,
    run: Run,
    grad_membrane: np.ndarray,
    grad_spikes: Optional[Sequence[Optional[np.ndarray]]] = None,
    threads: int = 0,
    arch: Optional[int] = None,
) -> List[np.ndarray]:
    """The gradients float32 `[N_in, N_out]` of a loss by the weights.

    run: of `forward` with the same arguments, `arch` included.
    grad_membrane: float32 `[time, batch, classes]`, the loss's derivative by the membrane.
    grad_spikes: of each layer float32 `[time, batch, slots]`, the loss's direct derivative by the
        spike of the neuron in that slot. None = 0.

    Raises ValueError if shapes, dtypes or ids do not fit the network, or `run` kept nothing.
    """
    call = _Call(network, weights, ids, counts, threads, arch)
    shape = ids.shape[:2]
    grad_membrane = _checked("grad_membrane", grad_membrane, (*shape, network.readout.neurons))
    direct: List[Optional[np.ndarray]] = [None] * len(network.layers)
    for number, array in enumerate(grad_spikes or ()):
        if array is not None:
            slots = network.layers[number].slots
            direct[number] = _checked(f"grad_spikes[{number}]", array, (*shape, slots))
    grads = [np.empty(matrix.shape, np.float32) for matrix in weights]
    records = (_Record * len(run.layers))(
        *(
            _Record(
                layer.bits.ctypes.data_as(_uint32_p),
                _floats(layer.membranes),
                layer.membranes.size,
            )
            for layer in run.layers
        )
    )
    gradient = _Backward(
        version=VERSION,
        record=records,
        grad_membrane=_floats(grad_membrane),
        grad_spikes=_float_pointers(direct),
        grad_weights=_float_pointers(grads),
    )
    call.run(native.library().lif_backward, gradient)
    return grads


class _Call:
    """LifNetwork of lif.h over arrays that it keeps alive."""

    def __init__(
        self,
        network: Network,
        weights: Sequence[np.ndarray],
        ids: np.ndarray,
        counts: np.ndarray,
        threads: int,
        arch: Optional[int],
    ) -> None:
        surrogate = check_supported(network)
        sizes = network.sizes
        if len(weights) != len(sizes) - 1:
            raise ValueError(f"the network needs {len(sizes) - 1} weights; got {len(weights)}")
        if ids.ndim != 3 or counts.shape != ids.shape[:2]:
            raise ValueError(
                "ids must be [time, batch, slots] and counts [time, batch]; "
                f"got shapes {ids.shape} and {counts.shape}"
            )
        ids = _checked("ids", ids, ids.shape, np.int32)
        counts = _checked("counts", counts, counts.shape, np.int32)
        self._alive: List[Any] = [ids, counts]
        layers: List[Union[LIF, LeakyReadout]] = [*network.layers, network.readout]
        self._layers = (_Layer * len(layers))()
        for number, layer in enumerate(layers):
            shape = (sizes[number], sizes[number + 1])
            matrix = _checked(f"weights[{number}]", weights[number], shape)
            arrays = [*constants(layer), matrix]
            self._alive.append(arrays)
            slots = layer.slots if isinstance(layer, LIF) else 0
            self._layers[number] = _Layer(layer.neurons, slots, *map(_floats, arrays))
        self._network = _Network(
            version=VERSION,
            steps=ids.shape[0],
            batch=ids.shape[1],
            inputs=network.inputs,
            input_slots=ids.shape[2],
            layers=len(network.layers),
            delay=network.delay,
            reset_gradient=RESET_GRADIENT[network.reset_gradient],
            surrogate=SUPERSPIKE,
            slope=surrogate.slope,
            threads=threads,
            arch=native.supported_arch() if arch is None else arch,
            ids=ids.ctypes.data_as(_int32_p),
            counts=counts.ctypes.data_as(_int32_p),
            layer=self._layers,
        )

    def bits_words(self, number: int, steps: int, batch: int) -> int:
        layer = ctypes.byref(self._layers[number])
        return int(native.library().lif_bits_words(steps, batch, layer))

    def run(self, function: Any, argument: ctypes.Structure) -> None:
        message = ctypes.create_string_buffer(512)
        failed = function(
            ctypes.byref(self._network), ctypes.byref(argument), message, ctypes.c_size_t(512)
        )
        _check(failed, message)

    def slots(
        self, number: int, steps: int, batch: int, bits: np.ndarray, spike_ids: np.ndarray
    ) -> None:
        message = ctypes.create_string_buffer(512)
        layer = ctypes.byref(self._layers[number])
        words, out = bits.ctypes.data_as(_uint32_p), _floats(spike_ids)
        failed = native.library().lif_slots(
            steps, batch, layer, words, self._network.threads, out, message, ctypes.c_size_t(512)
        )
        _check(failed, message)


def _check(failed: int, message: ctypes.Array[ctypes.c_char]) -> None:
    if failed == _OUT_OF_MEMORY:
        raise MemoryError(message.value.decode())
    if failed:
        raise ValueError(message.value.decode())


def _checked(
    name: str, array: np.ndarray, shape: Tuple[int, ...], dtype: Any = np.float32
) -> np.ndarray:
    if array.dtype != dtype or array.shape != shape:
        raise ValueError(
            f"{name} must be {np.dtype(dtype).name} of shape {shape}; "
            f"got {array.dtype} of shape {array.shape}"
        )
    return np.ascontiguousarray(array)


def _floats(array: Optional[np.ndarray]) -> Any:
    return None if array is None else array.ctypes.data_as(_float_p)


def _float_pointers(arrays: Sequence[Optional[np.ndarray]]) -> Any:
    return (_float_p * len(arrays))(*map(_floats, arrays))
