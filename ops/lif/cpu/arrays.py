"""The C++ kernels on NumPy arrays, without TensorFlow: what tests and other frameworks call."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from ops.lif.cpu import abi, native
from ops.lif.layer_trace import ConstantGradients
from ops.lif.network import LIF, Layer, LeakyReadout, Network, per_neuron
from ops.lif.weights import weight_shapes

_MESSAGE_SIZE = 512  # bytes


class LayerConstants(NamedTuple):
    """A layer's as the kernels take them, float32 `[neurons]`, each rounded once, from float64.

    None where the layer has no such constant.
    """

    decay: np.ndarray
    scale: np.ndarray  # gain * (1 - decay)
    synapse_decay: Optional[np.ndarray]
    threshold: Optional[np.ndarray]
    second_threshold: Optional[np.ndarray]


@dataclass(frozen=True)
class LayerRun:
    """What one spiking layer did."""

    u: Optional[np.ndarray]  # float32 [time, batch, neurons], before the reset; None: not wanted
    spike_ids: np.ndarray  # int32 [time, batch, slots]: spiking, then gradient-only, then zeros
    spike_counts: np.ndarray  # int32 [time, batch, 2]: spikes, spikes and gradient-only neurons
    dropped: np.ndarray  # int32 [time, batch]: spiking neurons without a slot
    bits: np.ndarray  # uint32, for `backward`
    membranes: np.ndarray  # float32, for `backward`; empty unless membranes are stored


@dataclass(frozen=True)
class Run:
    """What a network did over a whole sequence."""

    membrane: np.ndarray  # float32 [time, batch, classes], u of the readout
    layers: Tuple[LayerRun, ...]  # of the hidden layers, and of the readout if it spikes


@dataclass(frozen=True)
class Gradients:
    """Gradients of a loss; None where not wanted."""

    weights: Tuple[np.ndarray, ...]  # float32, as ops.lif.weights.weight_shapes says
    inputs: Optional[np.ndarray]  # float32 [time, batch, slots], by the spikes in the slots
    constants: Optional[Tuple[ConstantGradients, ...]]  # float64, of each layer and the readout


def constants(layer: Layer) -> LayerConstants:
    """The constants of a layer or readout for the kernels."""
    decay = per_neuron(layer.decay, layer.neurons, "decay")
    scale = per_neuron(layer.gain, layer.neurons, "gain") * (1 - decay)
    synapse_decay = threshold = second = None
    if layer.synapse_decay is not None:
        synapse_decay = _float32(layer.synapse_decay, layer.neurons, "synapse_decay")
    if isinstance(layer, LIF):
        threshold = _float32(layer.threshold, layer.neurons, "threshold")
        if layer.second_threshold is not None:
            second = _float32(layer.second_threshold, layer.neurons, "second_threshold")
    return LayerConstants(
        decay.astype(np.float32), scale.astype(np.float32), synapse_decay, threshold, second
    )


def forward(
    network: Network,
    weights: Sequence[np.ndarray],
    ids: np.ndarray,
    counts: np.ndarray,
    seed: int = 0,
    store: str = "membranes",
    weight_type: str = "float32",
    u: bool = False,
    threads: int = 0,
    arch: Optional[int] = None,
) -> Run:
    """Run the network from rest on the input spikes ids int32 or uint16 `[time, batch, slots]`,
    counts int32 `[time, batch]`, or `[time, batch, 2]` with gradient-only neurons.

    weights: float32, the arrays of ops.lif.weights.weight_shapes.
    seed: of the policy "cyclic", 0 to 2^64 - 1.
    store: what is left for `backward`: "nothing", if it will not be called; "membranes";
        "spikes", from which it runs the layers again, with less memory and the same result.
    weight_type: "bfloat16" rounds the weights to it first.
    u: whether the membranes of all neurons are wanted.
    threads: 0 for as many as the process may run on; results do not depend on it.
    arch: CPU features that may be used, None for all of this machine's.

    Raises ValueError if shapes, dtypes or ids do not fit the network; MemoryError.
    """
    call = _Call(network, weights, ids, counts, seed, store, weight_type, threads, arch)
    steps, batch = ids.shape[:2]
    spiking = network.spiking
    readout = isinstance(network.readout, LeakyReadout)
    membrane: Any = None  # of a readout that spikes, its layer's u
    if readout:
        membrane = np.empty((steps, batch, network.readout.neurons), np.float32)
    pairs = [np.empty((steps, batch, 2), np.float32) for _ in spiking]
    dropped = [np.empty((steps, batch), np.float32) for _ in spiking]
    bits = [np.empty(call.bits_words(number), np.uint32) for number in range(len(spiking))]
    membranes = [np.empty(0, np.float32) for _ in spiking]
    dense = [
        np.empty((steps, batch, layer.neurons), np.float32)
        if u or layer is network.readout
        else None
        for layer in spiking
    ]

    def allocate(_: Any, layer: int, floats: int) -> int:
        membranes[layer] = np.empty(max(floats, 1), np.float32)[:floats]
        return int(membranes[layer].ctypes.data)

    call.run(
        native.library().lif_forward,
        abi.LifForward(
            version=abi.VERSION,
            membrane=abi.floats(membrane),
            bits=(abi.uint32_p * len(bits))(*map(abi.uint32s, bits)),
            counts=abi.float_pointers(pairs),
            dropped=abi.float_pointers(dropped),
            u=None if all(array is None for array in dense) else abi.float_pointers(dense),
            allocate=abi.LifAllocate(allocate),
        ),
    )
    layers = tuple(
        LayerRun(
            u=dense[number],
            spike_ids=call.slots(number, bits[number]).astype(np.int32),
            spike_counts=pairs[number].astype(np.int32),
            dropped=dropped[number].astype(np.int32),
            bits=bits[number],
            membranes=membranes[number],
        )
        for number in range(len(spiking))
    )
    if membrane is None:
        membrane = dense[-1]
    return Run(membrane=membrane, layers=layers)


def backward(
    network: Network,
    weights: Sequence[np.ndarray],
    ids: np.ndarray,
    counts: np.ndarray,
    run: Run,
    grad_membrane: np.ndarray,
    grad_spikes: Optional[Sequence[Optional[np.ndarray]]] = None,
    grad_u: Optional[Sequence[Optional[np.ndarray]]] = None,
    inputs: bool = False,
    constants: bool = False,
    store: str = "membranes",
    weight_type: str = "float32",
    threads: int = 0,
    arch: Optional[int] = None,
) -> Gradients:
    """The gradients of a loss by the weights and, if wanted, by the input's spikes and the layers'
    constants.

    run: of `forward` with the same arguments, `store`, `weight_type` and `arch` included.
    grad_membrane: float32 `[time, batch, classes]`, the loss's derivative by the membrane.
    grad_spikes: of each spiking layer float32 `[time, batch, slots]`, the loss's direct derivative
        by the spike of the neuron in that slot.
    grad_u: of each hidden layer float32 `[time, batch, neurons]`, the loss's direct derivative by
        its u. None = 0, for all layers or one.

    Raises ValueError if shapes, dtypes or ids do not fit the network, or `run` stored nothing;
    MemoryError.
    """
    call = _Call(network, weights, ids, counts, 0, store, weight_type, threads, arch)
    shape, spiking = ids.shape[:2], network.spiking
    grad_membrane = _checked("grad_membrane", grad_membrane, (*shape, network.readout.neurons))
    direct = _of_each("grad_spikes", grad_spikes, [(*shape, layer.slots) for layer in spiking])
    by_u = _of_each("grad_u", grad_u, [(*shape, layer.neurons) for layer in network.layers])
    leaky = isinstance(network.readout, LeakyReadout)
    if not leaky:
        by_u.append(grad_membrane)
    outputs = _Outputs(network, ids.shape if inputs else None, constants)
    records = (
        abi.LifRecord(abi.uint32s(layer.bits), abi.floats(layer.membranes), layer.membranes.size)
        for layer in run.layers
    )
    call.run(
        native.library().lif_backward,
        abi.LifBackward(
            version=abi.VERSION,
            record=(abi.LifRecord * len(spiking))(*records),
            grad_membrane=abi.floats(grad_membrane) if leaky else None,
            grad_spikes=abi.float_pointers(direct),
            grad_u=None if all(array is None for array in by_u) else abi.float_pointers(by_u),
            gradient=outputs.pointers,
            grad_inputs=abi.floats(outputs.inputs),
        ),
    )
    return outputs.gradients()


class _Outputs:
    """The arrays that a backward pass writes."""

    def __init__(
        self, network: Network, inputs: Optional[Tuple[int, ...]], constants: bool
    ) -> None:
        self._layers: Tuple[Layer, ...] = (*network.layers, network.readout)
        self.inputs = None if inputs is None else np.empty(inputs, np.float32)
        self.pointers = (abi.LifGradient * len(self._layers))()
        self._weights: List[np.ndarray] = []
        for shape in weight_shapes(network):
            self._weights.append(np.empty(shape.shape, np.float32))
            name = "weights" if shape.role == "input" else shape.role
            setattr(self.pointers[shape.layer], name, abi.floats(self._weights[-1]))
        self._constants: Optional[List[LayerConstants]] = None
        if constants:
            self._constants = [self._of_constants(number) for number in range(len(self._layers))]

    def _of_constants(self, number: int) -> LayerConstants:
        layer, pointers = self._layers[number], self.pointers[number]
        found = {"decay": True, "scale": True, "synapse_decay": layer.synapse_decay is not None}
        found["threshold"] = isinstance(layer, LIF)
        arrays: Dict[str, Any] = {
            name: np.empty(layer.neurons, np.float32) if here else None
            for name, here in found.items()
        }
        for name, array in arrays.items():
            setattr(pointers, name, abi.floats(array))
        return LayerConstants(second_threshold=None, **arrays)

    def gradients(self) -> Gradients:
        by_constants = None
        if self._constants is not None:
            by_constants = tuple(
                ConstantGradients(
                    # The scale is gain * (1 - decay).
                    decay=grad.decay
                    - per_neuron(layer.gain, layer.neurons, "gain") * grad.scale.astype(float),
                    threshold=_float64(grad.threshold),
                    synapse_decay=_float64(grad.synapse_decay),
                )
                for layer, grad in zip(self._layers, self._constants)
            )
        return Gradients(tuple(self._weights), self.inputs, by_constants)


class _Call:
    """LifNetwork of lif.h over arrays that it keeps alive."""

    def __init__(
        self,
        network: Network,
        weights: Sequence[np.ndarray],
        ids: np.ndarray,
        counts: np.ndarray,
        seed: int,
        store: str,
        weight_type: str,
        threads: int,
        arch: Optional[int],
    ) -> None:
        if ids.ndim != 3 or counts.shape not in (ids.shape[:2], (*ids.shape[:2], 2)):
            raise ValueError(
                "ids must be [time, batch, slots] and counts [time, batch] or [time, batch, 2]; "
                f"got shapes {ids.shape} and {counts.shape}"
            )
        id_type = np.uint16 if ids.dtype == np.uint16 else np.int32
        ids = _checked("ids", ids, ids.shape, id_type)
        counts = _checked("counts", counts, counts.shape, np.int32)
        filled = None
        if counts.ndim == 3:
            filled = np.ascontiguousarray(counts[..., 1])
            counts = np.ascontiguousarray(counts[..., 0])
        if not 0 <= seed < 2**64:
            raise ValueError(f"seed must be 0 to 2^64 - 1; got {seed}")
        self._alive: List[Any] = [ids, counts, filled]
        layers: List[Layer] = [*network.layers, network.readout]
        self._layers = (abi.LifLayer * len(layers))()
        for number, layer in enumerate(layers):
            self._set_layer(self._layers[number], layer)
        self._set_weights(network, weights)
        self._network = abi.LifNetwork(
            version=abi.VERSION,
            steps=ids.shape[0],
            batch=ids.shape[1],
            inputs=network.inputs,
            input_slots=ids.shape[2],
            layers=len(network.spiking),
            leaky_readout=int(isinstance(network.readout, LeakyReadout)),
            delay=network.delay,
            reset=abi.RESET[network.reset],
            reset_on=abi.RESET_ON[network.reset_on],
            reset_gradient=abi.RESET_GRADIENT[network.reset_gradient],
            weights=_choice("weight_type", weight_type, abi.WEIGHTS),
            store=_choice("store", store, abi.STORE),
            threads=threads,
            arch=native.supported_arch() if arch is None else arch,
            seed=seed,
            surrogate=abi.surrogate(network.surrogate),
            id_bytes=ids.itemsize,
            ids=ids.ctypes.data,
            counts=counts.ctypes.data_as(abi.int32_p),
            filled=None if filled is None else filled.ctypes.data_as(abi.int32_p),
            layer=self._layers,
        )

    def _set_layer(self, target: abi.LifLayer, layer: Layer) -> None:
        arrays = constants(layer)
        self._alive.append(arrays)
        target.neurons = layer.neurons
        if isinstance(layer, LIF):
            target.slots = layer.slots
            target.policy = abi.POLICY[layer.policy]
        for name, array in arrays._asdict().items():
            setattr(target, name, abi.floats(array))

    def _set_weights(self, network: Network, weights: Sequence[np.ndarray]) -> None:
        shapes = weight_shapes(network)
        if len(weights) != len(shapes):
            raise ValueError(f"the network needs {len(shapes)} weights; got {len(weights)}")
        for number, (array, expected) in enumerate(zip(weights, shapes)):
            self._alive.append(_checked(f"weights[{number}]", array, expected.shape))
            name = "weights" if expected.role == "input" else expected.role
            setattr(self._layers[expected.layer], name, abi.floats(self._alive[-1]))

    def bits_words(self, number: int) -> int:
        steps, batch = self._network.steps, self._network.batch
        layer = ctypes.byref(self._layers[number])
        return int(native.library().lif_bits_words(steps, batch, layer))

    def run(self, function: Any, argument: ctypes.Structure) -> None:
        message = ctypes.create_string_buffer(_MESSAGE_SIZE)
        size = ctypes.c_size_t(_MESSAGE_SIZE)
        failed = function(ctypes.byref(self._network), ctypes.byref(argument), message, size)
        _check(failed, message)

    def slots(self, number: int, bits: np.ndarray) -> np.ndarray:
        """The ids in the slots of a layer, float32 `[time, batch, slots]`."""
        steps, batch, threads = self._network.steps, self._network.batch, self._network.threads
        layer = self._layers[number]
        found = np.empty((steps, batch, layer.slots), np.float32)
        message = ctypes.create_string_buffer(_MESSAGE_SIZE)
        failed = native.library().lif_slots(
            *(steps, batch, ctypes.byref(layer), abi.uint32s(bits), threads, abi.floats(found)),
            *(message, ctypes.c_size_t(_MESSAGE_SIZE)),
        )
        _check(failed, message)
        return found


def _check(failed: int, message: ctypes.Array[ctypes.c_char]) -> None:
    if failed == abi.OUT_OF_MEMORY:
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


def _of_each(
    name: str,
    arrays: Optional[Sequence[Optional[np.ndarray]]],
    shapes: Sequence[Tuple[int, ...]],
) -> List[Optional[np.ndarray]]:
    if arrays is None:
        return [None] * len(shapes)
    if len(arrays) != len(shapes):
        raise ValueError(f"{name} must have {len(shapes)} layers; got {len(arrays)}")
    return [
        None if array is None else _checked(f"{name}[{number}]", array, shapes[number])
        for number, array in enumerate(arrays)
    ]


def _choice(name: str, value: str, choices: Any) -> int:
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}; got {value}")
    return int(choices[value])


def _float32(value: Any, neurons: int, name: str) -> np.ndarray:
    return per_neuron(value, neurons, name).astype(np.float32)


def _float64(array: Optional[np.ndarray]) -> Optional[np.ndarray]:
    return None if array is None else array.astype(np.float64)
