"""A network's step in dense TensorFlow arithmetic: what the sparse ways are compared with."""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Sequence, Tuple

import tensorflow as tf

from ipulse_core.ipu import MK2_TILES
from ipulse_ops.keras import dense_ops
from ipulse_ops.keras.cell import NetworkCell
from ipulse_ops.keras.packing import binary, parts
from ipulse_ops.lif.network import LIF
from ipulse_ops.lif.poplar.backends import step_ops
from ipulse_ops.validation import choice, whole


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

    with dense spikes `[batch, time, inputs]` of zeros and ones. Nobody goes without a slot here,
    so that a layer may have no capacity below its neurons, and policies say nothing. Its arguments
    are NetworkLayer's, and

    backend: "cpu" takes TensorFlow's own products; "emulator" Poplar's on an emulated IPU, which
        must know all shapes.
    tiles_per_ipu: of the emulated one.

    Raises ValueError for such a capacity, or if an argument is out of range; a call raises
    tf.errors.InvalidArgumentError for other inputs than 0 and 1, and what
    ipulse_ops.lif.poplar.backends.step_ops raises.
    """

    def __init__(
        self, *args: Any, backend: str = "cpu", tiles_per_ipu: int = MK2_TILES, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.backend = choice("backend", backend, ("cpu", "emulator"))
        self.tiles_per_ipu = whole("tiles_per_ipu", tiles_per_ipu)
        for number, layer in enumerate(self.network.spiking):
            if layer.slots < layer.neurons:
                raise ValueError(
                    f"layers[{number}] has {layer.slots} slots for {layer.neurons} neurons; "
                    "DenseLIFCell has no slots, SparseLIFCell and MultiLIF do"
                )

    def get_config(self) -> Dict[str, Any]:
        own = {"backend": self.backend, "tiles_per_ipu": self.tiles_per_ipu}
        return {**super().get_config(), **own}

    def _ops(self) -> Any:
        """dense_matmul and emit_spikes."""
        if self.backend == "cpu":
            return dense_ops
        return step_ops(self.tiles_per_ipu)

    @property
    def output_size(self) -> int:
        """Last axis of the packed outputs."""
        return sum(self._output_sizes())

    def call(
        self, inputs: Any, states: Sequence[Any], training: Any = None
    ) -> Tuple[Any, List[Any]]:
        network, ops = self.network, self._ops()
        kernels, constants = self._tensors()
        if inputs.shape[-1] not in (None, network.inputs):
            raise ValueError(
                f"the input must be dense spikes of {network.inputs} channels; got {inputs.shape}"
            )
        spikes = binary(tf.cast(inputs, tf.float32))
        emitted: List[Any] = []
        membranes: List[Any] = []
        after: List[Any] = []
        u: Any = None
        for number, (layer, state) in enumerate(zip(self._all, self._layer_states(states))):
            tensors = constants[number]
            current = ops.dense_matmul(spikes, kernels[number].input)
            if kernels[number].recurrent is not None:
                current += ops.dense_matmul(state["spikes"], kernels[number].recurrent)
            if kernels[number].bias is not None:
                current += kernels[number].bias
            u, synapse = self._membrane(layer, tensors, state, current)
            if not isinstance(layer, LIF):
                after += [u, *synapse]
                break
            gate = None if layer.second_threshold is None else tensors.second_threshold
            spiked = ops.emit_spikes(u, tensors.threshold, gate, network.surrogate)
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
