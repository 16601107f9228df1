"""One time step of a network in dense TensorFlow arithmetic, for comparison with sparse ops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Sequence, Tuple, Union

import tensorflow as tf

from ipulse_core.ipu import MK2_TILES
from ipulse_ops.keras import dense_ops
from ipulse_ops.keras.arguments import shows_inherited_arguments
from ipulse_ops.keras.cell import NetworkCell
from ipulse_ops.keras.packing import binary, parts
from ipulse_ops.lif.network import LIF, Layer
from ipulse_ops.lif.poplar.backends import step_ops
from ipulse_ops.validation import choice, whole

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ipulse_ops.keras.arguments import NetworkArguments


class DenseOutputs(NamedTuple):
    """Results of a network, all float32 and with the batch first."""

    membrane: Any  # [batch, time, classes], of the readout
    spikes: List[Any]  # per layer that spikes [batch, time, neurons], 0 or 1
    membranes: List[Any]  # per hidden layer [batch, time, neurons]


@shows_inherited_arguments
@tf.keras.utils.register_keras_serializable("ipulse")
class DenseLIFCell(NetworkCell):
    """One step of the network of MultiLIF, with every neuron in every sum.

    The network runs as

        rnn = tf.keras.layers.RNN(cell, return_sequences=True)
        outputs = cell.unpack(rnn(spikes))

    on dense spikes `[batch, time, inputs]` of zeros and ones. It drops no spikes: the capacity of
    a layer must not be below its neurons, and policies have no effect. It has the arguments of
    NetworkLayer, and

    backend: "cpu" uses TensorFlow's products; "emulator" uses Poplar's on an emulated IPU, and
        needs static shapes.
    tiles_per_ipu: number of tiles of the emulated IPU.

    Raises ValueError for a smaller capacity or an argument out of range; a call raises
    tf.errors.InvalidArgumentError for inputs other than 0 and 1, and what
    ipulse_ops.lif.poplar.backends.step_ops raises.

    Example:
        >>> import tensorflow as tf
        >>> from ipulse_ops.keras import DenseLIFCell, LIF, LeakyReadout
        >>> cell = DenseLIFCell(30, [LIF(neurons=20)], LeakyReadout(neurons=10))
        >>> rnn = tf.keras.layers.RNN(cell, return_sequences=True)
        >>> cell.unpack(rnn(tf.ones([4, 50, 30]))).membrane.shape
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
        self.backend = choice("backend", backend, ("cpu", "emulator"))
        self.tiles_per_ipu = whole("tiles_per_ipu", tiles_per_ipu)
        for number, layer in enumerate(self.network.spiking):
            if layer.slots < layer.neurons:
                raise ValueError(
                    f"layers[{number}] has {layer.slots} slots for {layer.neurons} neurons; "
                    "DenseLIFCell has no slots, SparseLIFCell and MultiLIF do"
                )

    def get_config(self) -> Dict[str, Any]:
        """Return the arguments as plain JSON values."""
        own = {"backend": self.backend, "tiles_per_ipu": self.tiles_per_ipu}
        return {**super().get_config(), **own}

    def _ops(self) -> Any:
        """Return an object with the functions dense_matmul and emit_spikes."""
        if self.backend == "cpu":
            return dense_ops
        return step_ops(self.tiles_per_ipu)

    @property
    def output_size(self) -> int:
        """The size of the last axis of the packed outputs."""
        return sum(self._output_sizes())

    def call(
        self, inputs: Any, states: Sequence[Any], training: Any = None
    ) -> Tuple[Any, List[Any]]:
        """Run one step. Return the packed outputs and the new states."""
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
        """Split an RNN's output `[batch, time, ...]`, or a step's `[batch, ...]`, by name."""
        found = parts(packed, self._output_sizes())
        spiking = len(self.network.spiking)
        return DenseOutputs(found[0], found[1 : 1 + spiking], found[1 + spiking :])

    def _output_sizes(self) -> List[int]:
        network = self.network
        layers = (*network.spiking, *network.layers)
        return [network.readout.neurons, *(layer.neurons for layer in layers)]

    def _spikes_size(self, layer: LIF) -> int:
        return layer.neurons
