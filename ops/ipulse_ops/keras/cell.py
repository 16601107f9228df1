"""The base class of the cells: one time step of a network."""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

import tensorflow as tf

from ipulse_core.registry.refusals import CELL
from ipulse_ops.keras.network_layer import NetworkLayer
from ipulse_ops.lif.constant_tensors import LayerTensors, constant_tensors
from ipulse_ops.lif.network import LIF, Layer
from ipulse_ops.lif.unsupported import refuse_unsupported
from ipulse_ops.lif.weights import weight_shapes


class LayerKernels(NamedTuple):
    """The weights of one layer as tensors, None for weights that it does not have."""

    input: Any
    recurrent: Optional[Any] = None
    bias: Optional[Any] = None


class NetworkCell(NetworkLayer):
    """One time step of a network as a cell for `tf.keras.layers.RNN`.

    It has the arguments of NetworkLayer. The states of each layer are its membrane after the
    reset; its synaptic current if it has a synapse; and its spikes if the layer is recurrent or
    they arrive one step later.

    Raises UnsupportedNetwork if a layer has adaptive thresholds, dropout or a delay above 1, or if
    gradients are truncated, which MultiLIF and LIFLayer do.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        refuse_unsupported(self.network, CELL)

    @property
    def state_size(self) -> List[int]:
        """The sizes of the last axes of the states."""
        sizes: List[int] = []
        for number, layer in enumerate(self._all):
            sizes.append(layer.neurons)
            if layer.synapse_decay is not None:
                sizes.append(layer.neurons)
            if isinstance(layer, LIF) and self._remembers(number):
                sizes.append(self._spikes_size(layer))
        return [*sizes, *self._more_states()]

    def get_initial_state(
        self,
        inputs: Optional[Any] = None,
        batch_size: Optional[Any] = None,
        dtype: Optional[Any] = None,
    ) -> List[Any]:
        """Return the states at rest: zeros."""
        if batch_size is None:
            batch_size = tf.shape(inputs)[0]
        return [tf.zeros([batch_size, size], tf.float32) for size in self.state_size]

    def _spikes_size(self, layer: LIF) -> int:
        """Return the size of the last axis of a layer's spikes as a state."""
        raise NotImplementedError

    def _more_states(self) -> List[int]:
        """Return the sizes of the states that follow the layers' states."""
        return []

    def _remembers(self, number: int) -> bool:
        """Return True if the next step reads the spikes of layer `number`."""
        layer, last = self._all[number], number == len(self._all) - 1
        return isinstance(layer, LIF) and (
            layer.recurrent or (self.network.delay == 1 and not last)
        )

    def _layer_states(self, states: Sequence[Any]) -> List[Dict[str, Any]]:
        """Return the states of each layer by name: v, i, spikes."""
        # In a stateful RNN of Keras 3 they are variables.
        left, found = [tf.convert_to_tensor(state) for state in states], []
        for number, layer in enumerate(self._all):
            of_layer = {"v": left.pop(0)}
            if layer.synapse_decay is not None:
                of_layer["i"] = left.pop(0)
            if self._remembers(number):
                of_layer["spikes"] = left.pop(0)
            found.append(of_layer)
        return found

    def _tensors(self) -> Tuple[List[LayerKernels], List[LayerTensors]]:
        """Return the weights and constants of each layer."""
        found: List[LayerKernels] = []
        for shape, kernel in zip(weight_shapes(self.network), self._kernels):
            tensor = tf.convert_to_tensor(kernel)
            if shape.role == "input":
                found.append(LayerKernels(tensor))
            else:
                found[-1] = found[-1]._replace(**{shape.role: tensor})
        return found, constant_tensors(self.network, self.constants_in_use())

    def _membrane(
        self, layer: Layer, tensors: LayerTensors, state: Dict[str, Any], current: Any
    ) -> Tuple[Any, List[Any]]:
        """Return u, and the synaptic current as a list of at most one state."""
        if layer.synapse_decay is None:
            return tensors.decay * state["v"] + tensors.scale * current, []
        decay = tensors.synapse_decay
        current = decay * state["i"] + (1 - decay) * current
        return tensors.decay * state["v"] + tensors.scale * current, [current]

    def _after_reset(self, u: Any, spiked: Any, threshold: Any) -> Any:
        """Return v of the next step.

        spiked: r of ipulse_ops.lif.reference.network_pass, with the gradient of the spikes.
        """
        reset, held = self.network.reset, self.network.reset_gradient
        if reset == "none":
            return u
        if held == "mask":
            spiked = tf.stop_gradient(spiked)
        taken = (u if reset == "zero" else threshold) * spiked
        return u - (tf.stop_gradient(taken) if held == "term" else taken)
