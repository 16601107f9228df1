"""Runs the C++ kernels on NumPy arrays, without TensorFlow, for tests and other frameworks."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy as np

from ipulse_core.neurons.constants import IN_KERNELS, TRAINED
from ipulse_ops.lif.cpu import abi, native
from ipulse_ops.lif.cpu.call import Call, checked
from ipulse_ops.lif.cpu.runs import KernelGradients, LayerRun, NetworkRun
from ipulse_ops.lif.layer_constants import LayerConstants
from ipulse_ops.lif.layer_constants import constants as constants_of
from ipulse_ops.lif.network import Layer, LeakyReadout, Network
from ipulse_ops.lif.neuron_constants import per_neuron, scale_by_decay
from ipulse_ops.lif.reference.trace import ConstantGradients
from ipulse_ops.lif.weights import weight_shapes


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
) -> NetworkRun:
    """Run the network from rest on input spikes.

    weights: float32 arrays with the shapes of ipulse_ops.lif.weights.weight_shapes.
    ids: int32 or uint16 `[time, batch, slots]`.
    counts: int32 `[time, batch]`; or `[time, batch, 2]`, spikes and filled slots.
    seed: seed of the policy "cyclic", 0 to 2^64 - 1.
    store: what is stored for `backward`: "nothing", if it will not be called; "membranes";
        "spikes", from which it runs the layers again, with less memory and the same result.
    weight_type: "bfloat16" rounds the matrices to it, in copies of half the size.
    u: True returns the membranes of all neurons.
    threads: 0 for all processors that the process may use; results do not depend on it.
    arch: mask of CPU features to use, None for all of this machine's.

    Raises ValueError if shapes, dtypes or ids do not fit the network; MemoryError.
    """
    call = Call(network, weights, ids, counts, seed, store, weight_type, threads, arch)
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
        membranes[layer] = _whole_lines(floats)
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
    return NetworkRun(membrane=membrane, layers=layers)


def _whole_lines(floats: int) -> np.ndarray:
    """Allocate float32 `[floats]` aligned to cache lines, like TensorFlow's tensors."""
    line = 64
    room = np.empty(4 * max(floats, 1) + line, np.uint8)
    first = -room.ctypes.data % line
    return room[first : first + 4 * floats].view(np.float32)


def backward(
    network: Network,
    weights: Sequence[np.ndarray],
    ids: np.ndarray,
    counts: np.ndarray,
    run: NetworkRun,
    grad_membrane: np.ndarray,
    grad_spikes: Optional[Sequence[Optional[np.ndarray]]] = None,
    grad_u: Optional[Sequence[Optional[np.ndarray]]] = None,
    inputs: bool = False,
    constants: bool = False,
    store: str = "membranes",
    weight_type: str = "float32",
    last_use: bool = False,
    threads: int = 0,
    arch: Optional[int] = None,
) -> KernelGradients:
    """Return a loss's gradients of the weights and, on request, of input spikes and constants.

    run: the result of `forward` with the same arguments, including `store`, `weight_type` and
        `arch`.
    grad_membrane: float32 `[time, batch, classes]`, the loss's derivative with respect to the
        membrane.
    grad_spikes: per spiking layer float32 `[time, batch, slots]`, the direct part of dL/ds of the
        neuron in each slot; None for 0, for all layers or one.
    grad_u: per hidden layer float32 `[time, batch, neurons]`, the direct part of dL/du; None for 0,
        for all layers or one.
    inputs, constants: True requests the gradients of the input spikes, and of the constants.
    last_use: True lets this call overwrite the run's membranes, which saves their size in memory;
        the run then has no further backward pass.

    Raises ValueError if shapes, dtypes or ids do not fit the network, or `run` stored nothing;
    MemoryError.
    """
    call = Call(network, weights, ids, counts, 0, store, weight_type, threads, arch)
    shape, spiking = ids.shape[:2], network.spiking
    grad_membrane = checked("grad_membrane", grad_membrane, (*shape, network.readout.neurons))
    direct = _of_each("grad_spikes", grad_spikes, [(*shape, layer.slots) for layer in spiking])
    by_u = _of_each("grad_u", grad_u, [(*shape, layer.neurons) for layer in network.layers])
    leaky = isinstance(network.readout, LeakyReadout)
    if not leaky:
        by_u.append(grad_membrane)
    outputs = _Outputs(network, ids.shape if inputs else None, constants)
    records = (
        abi.LifRecord(
            *(abi.uint32s(layer.bits), abi.floats(layer.membranes), layer.membranes.size),
            last_use,
        )
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
        given = constants_of(layer)
        arrays: Dict[str, Any] = {
            row.array: np.empty(layer.neurons, np.float32)
            if row.has_gradient and getattr(given, row.array) is not None
            else None
            for row in IN_KERNELS
        }
        for row in IN_KERNELS:
            if row.has_gradient:
                setattr(pointers, row.array, abi.floats(arrays[row.array]))
        return LayerConstants(**arrays)

    def gradients(self) -> KernelGradients:
        by_constants = None
        if self._constants is not None:
            by_constants = tuple(
                ConstantGradients(
                    # The scale depends on the decay.
                    decay=grad.decay
                    + scale_by_decay(
                        per_neuron(layer.decay, layer.neurons, "decay"),
                        per_neuron(layer.gain, layer.neurons, "gain"),
                    )
                    * grad.scale.astype(float),
                    **{name: _float64(getattr(grad, name)) for name in TRAINED if name != "decay"},
                )
                for layer, grad in zip(self._layers, self._constants)
            )
        return KernelGradients(tuple(self._weights), self.inputs, by_constants)


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
        None if array is None else checked(f"{name}[{number}]", array, shapes[number])
        for number, array in enumerate(arrays)
    ]


def _float64(array: Optional[np.ndarray]) -> Optional[np.ndarray]:
    return None if array is None else array.astype(np.float64)
