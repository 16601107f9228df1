"""A network's step in dense TensorFlow arithmetic: what the sparse ways are compared with."""

from __future__ import annotations

from typing import Any, List, NamedTuple, Sequence, Tuple

import tensorflow as tf

from ops.keras.cell import NetworkCell
from ops.keras.packing import parts
from ops.keras.surrogates import phi
from ops.lif.network import LIF
from ops.surrogate import Surrogate


class DenseOutputs(NamedTuple):
    """What a network did, all float32 and with the batch first."""

    membrane: Any  # [batch, time, classes], of the readout
    spikes: List[Any]  # per layer that spikes [batch, time, neurons], 0 or 1
    membranes: List[Any]  # per hidden layer [batch, time, neurons]


@tf.keras.utils.register_keras_serializable("ipulse")
class DenseLIFCell(NetworkCell):
    """The network of MultiLIF, one step at a time and every neuron in every sum:

        rnn = tf.keras.layers.RNN(cell, return_sequences=True)
        outputs = cell.unpack(rnn(spikes))

    with dense spikes `[batch, time, inputs]`. Its arguments are NetworkLayer's. Nobody goes without
    a slot here, so that a layer may have no capacity below its neurons, and policies say nothing.

    Raises ValueError for such a capacity.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for number, layer in enumerate(self.network.spiking):
            if layer.slots < layer.neurons:
                raise ValueError(
                    f"layers[{number}] has {layer.slots} slots for {layer.neurons} neurons; "
                    "DenseLIFCell has no slots, SparseLIFCell and MultiLIF do"
                )

    @property
    def output_size(self) -> int:
        """Last axis of the packed outputs."""
        return sum(self._output_sizes())

    def call(
        self, inputs: Any, states: Sequence[Any], training: Any = None
    ) -> Tuple[Any, List[Any]]:
        network = self.network
        kernels, constants = self._tensors()
        spikes = tf.cast(inputs, tf.float32)
        emitted: List[Any] = []
        membranes: List[Any] = []
        after: List[Any] = []
        u: Any = None
        for number, (layer, state) in enumerate(zip(self._all, self._layer_states(states))):
            tensors = constants[number]
            current = tf.linalg.matmul(spikes, kernels[number].input)
            if kernels[number].recurrent is not None:
                current += tf.linalg.matmul(state["spikes"], kernels[number].recurrent)
            if kernels[number].bias is not None:
                current += kernels[number].bias
            u, synapse = self._membrane(layer, tensors, state, current)
            if not isinstance(layer, LIF):
                after += [u, *synapse]
                break
            gate = u - tensors.second_threshold if layer.second_threshold is not None else None
            spiked = emit(u - tensors.threshold, u > tensors.threshold, gate, network.surrogate)
            after += [self._after_reset(u, spiked, tensors.threshold), *synapse]
            if self._remembers(number):
                after.append(spiked)
            emitted.append(spiked)
            membranes.append(u)
            spikes = state["spikes"] if network.delay == 1 and self._remembers(number) else spiked
        packed = tf.concat([u, *emitted, *membranes[: len(network.layers)]], axis=-1)
        return packed, after

    def unpack(self, packed: Any) -> DenseOutputs:
        """The RNN's output `[batch, time, ...]`, or that of one step `[batch, ...]`, by name."""
        found = parts(packed, self._output_sizes())
        spiking = len(self.network.spiking)
        return DenseOutputs(found[0], found[1 : 1 + spiking], found[1 + spiking :])

    def _output_sizes(self) -> List[int]:
        network = self.network
        layers = (*network.spiking, *network.layers)
        return [network.readout.neurons, *(layer.neurons for layer in layers)]

    def _spikes_size(self, layer: LIF) -> int:
        return layer.neurons


def emit(x: Any, spikes: Any, gate: Any, surrogate: Surrogate) -> Any:
    """float32 1 where `spikes`, else 0; its gradient by x is the surrogate's where the gate is
    above 0, everywhere if that is None."""

    @tf.custom_gradient  # type: ignore[untyped-decorator] # TensorFlow has no types
    def emitted(x: Any) -> Any:
        def gradient(grad: Any) -> Any:
            slope = phi(surrogate, x)
            if gate is not None:
                slope = tf.where(tf.logical_or(gate > 0, spikes), slope, 0.0)
            return grad * slope

        return tf.cast(spikes, tf.float32), gradient

    return emitted(x)
