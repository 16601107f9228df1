"""One time step of a network from separate sparse TensorFlow ops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Sequence, Tuple, Union

import tensorflow as tf

from ipulse_core.ipu import MK2_TILES
from ipulse_ops import sparse
from ipulse_ops.keras.arguments import shows_inherited_arguments
from ipulse_ops.keras.cell import NetworkCell
from ipulse_ops.keras.packing import not_dense, pack_spikes, parts
from ipulse_ops.lif.network import LIF, Layer
from ipulse_ops.lif.poplar.backends import step_ops
from ipulse_ops.lif.run_options import LIFOutputs
from ipulse_ops.validation import choice, whole

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ipulse_ops.keras.arguments import NetworkArguments


@shows_inherited_arguments
@tf.keras.utils.register_keras_serializable("ipulse")
class SparseLIFCell(NetworkCell):
    """One step of the network of MultiLIF, from separate sparse ops.

    The network runs as

        rnn = tf.keras.layers.RNN(cell, return_sequences=True)
        outputs = cell.unpack(rnn(pack_spikes(ids, counts)))

    on ids `[batch, time, slots]`. An RNN has the batch first, and so have the LIFOutputs. This cell
    is slower than MultiLIF, which runs whole sequences in one op, but can be changed in Python.

    It has the arguments of NetworkLayer, and

    backend: "cpu"; "emulator" runs the Poplar ops of one step on an emulated IPU, "ipu" on an IPU
        with Graphcore's TensorFlow. The last two do not support the policy "cyclic" and need
        static shapes.
    tiles_per_ipu: number of tiles of an emulated IPU.

    Raises ValueError if an argument is out of range; a call raises UnsupportedNetwork,
    tf.errors.InvalidArgumentError for wrong spikes, dense ones too, and what
    ipulse_ops.lif.poplar.backends.step_ops raises.

    Example:
        >>> import tensorflow as tf
        >>> from ipulse_ops.keras import LIF, LeakyReadout, SparseLIFCell, pack_spikes
        >>> cell = SparseLIFCell(30, [LIF(neurons=20)], LeakyReadout(neurons=10))
        >>> ids = tf.zeros([4, 50, 6])  # neuron 0 spikes once in each step
        >>> rnn = tf.keras.layers.RNN(cell, return_sequences=True)
        >>> outputs = cell.unpack(rnn(pack_spikes(ids, tf.ones([4, 50]))))
        >>> outputs.membrane.shape
        TensorShape([4, 50, 10])
    """

    def __init__(
        self,
        inputs: int,
        layers: Sequence[Union[LIF, Dict[str, Any]]],
        readout: Union[Layer, Dict[str, Any]],
        *,
        backend: str = "cpu",
        tiles_per_ipu: int = MK2_TILES,
        **kwargs: Unpack[NetworkArguments],
    ) -> None:
        super().__init__(inputs, layers, readout, **kwargs)
        self.backend = choice("backend", backend, ("cpu", "emulator", "ipu"))
        self.tiles_per_ipu = whole("tiles_per_ipu", tiles_per_ipu)

    def get_config(self) -> Dict[str, Any]:
        """Return the arguments as plain JSON values."""
        own = {"backend": self.backend, "tiles_per_ipu": self.tiles_per_ipu}
        return {**super().get_config(), **own}

    def _ops(self) -> Any:
        """Return an object with the functions spike_matmul, select_spikes and sparse_to_dense."""
        if self.backend == "cpu":
            return sparse
        return step_ops(self.tiles_per_ipu if self.backend == "emulator" else None)

    @property
    def output_size(self) -> int:
        """The size of the last axis of the packed outputs."""
        return sum(max(size, 1) for size in self._output_sizes())

    def call(
        self, inputs: Any, states: Sequence[Any], training: Any = None
    ) -> Tuple[Any, List[Any]]:
        """Run one step. Return the packed outputs and the new states."""
        network, ops = self.network, self._ops()
        kernels, constants = self._tensors()
        step = states[-1]
        if inputs.shape[-1] == network.inputs:  # as many slots as channels are rare
            inputs = not_dense(inputs)
        counts, ids = inputs[:, :2], inputs[:, 2:]
        outputs: List[List[Any]] = [[], [], [], []]
        after: List[Any] = []
        u: Any = None
        for number, (layer, state) in enumerate(zip(self._all, self._layer_states(states))):
            tensors = constants[number]
            current = ops.spike_matmul(kernels[number].input, ids, counts)
            own = None
            if self._remembers(number):
                own = state["spikes"][:, 2:], state["spikes"][:, :2]
            if kernels[number].recurrent is not None and own is not None:
                current += ops.spike_matmul(kernels[number].recurrent, *own)
            if kernels[number].bias is not None:
                current += kernels[number].bias
            u, synapse = self._membrane(layer, tensors, state, current)
            if not isinstance(layer, LIF):
                after += [u, *synapse]
                break
            gate = None if layer.second_threshold is None else tensors.second_threshold
            found = ops.select_spikes(
                *(u, tensors.threshold, gate, layer.slots, layer.policy, network.surrogate),
                seed=self.seed,
                first_step=tf.cast(step[0, 0], tf.int64) if layer.policy == "cyclic" else 0,
                layer=number,
            )
            spiked = ops.sparse_to_dense(found.ids, found.counts, layer.neurons)
            if network.reset_on == "state":
                above = tf.cast(u > tensors.threshold, tf.float32)
                spiked += tf.stop_gradient(above - spiked)
            after += [self._after_reset(u, spiked, tensors.threshold), *synapse]
            if self._remembers(number):
                after.append(pack_spikes(found.ids, found.counts))
            for kind, tensor in zip(outputs, (*found, u)):
                kind.append(tensor)
            delayed = network.delay == 1 and own is not None
            ids, counts = own if delayed and own is not None else (found.ids, found.counts)
        dropped = [tensor[:, tf.newaxis] for tensor in outputs[2]]
        hidden = outputs[3][: len(network.layers)]
        packed = tf.concat([u, *outputs[0], *outputs[1], *dropped, *hidden], axis=-1)
        return packed, [*after, step + 1]

    def unpack(self, packed: Any) -> LIFOutputs:
        """Split an RNN's output `[batch, time, ...]`, or a step's `[batch, ...]`, by name.

        Unlike those of MultiLIF, the outputs always include the hidden layers' membranes.
        """
        found = parts(packed, self._output_sizes())
        spiking = len(self.network.spiking)
        return LIFOutputs(
            membrane=found[0],
            spike_ids=found[1 : 1 + spiking],
            spike_counts=found[1 + spiking : 1 + 2 * spiking],
            dropped=found[1 + 2 * spiking : 1 + 3 * spiking],
            membranes=found[1 + 3 * spiking :],
        )

    def _output_sizes(self) -> List[int]:
        spiking = self.network.spiking
        return [
            self.network.readout.neurons,
            *(layer.slots for layer in spiking),
            *[2] * len(spiking),
            *[0] * len(spiking),
            *(layer.neurons for layer in self.network.layers),
        ]

    def _spikes_size(self, layer: LIF) -> int:
        return layer.slots + 2

    def _more_states(self) -> List[int]:
        return [1]  # the step, for the policy "cyclic"
