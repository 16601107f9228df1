"""The back end "numpy" of `run_network`: the float64 reference inside TensorFlow graphs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy as np
import tensorflow as tf

from ipulse_ops.lif.constant_tensors import checked_constants
from ipulse_ops.lif.input_spikes import input_spikes
from ipulse_ops.lif.network import Layer, Network
from ipulse_ops.lif.reference import network_pass as reference
from ipulse_ops.lif.reference.trace import Trace
from ipulse_ops.lif.run_options import LIFOutputs, RunOptions
from ipulse_ops.lif.weight_types import rounded
from ipulse_ops.lif.weights import weight_shapes
from ipulse_ops.reference.dropout import scale_of
from ipulse_ops.sparse.seed import word64

Arrays = Tuple[np.ndarray, ...]
FIRST = 4  # of the weights among the arrays of a call: behind ids, counts and two seeds


def run_reference(
    network: Network,
    weights: Sequence[Any],
    ids: Any,
    counts: Any,
    options: RunOptions = RunOptions(),
) -> LIFOutputs:
    """Run the network with ipulse_ops.lif.reference.network_pass.

    The outputs are rounded to float32. The backward pass runs the forward pass again, so that
    only the input spikes are stored for it.

    Raises ValueError, in traces tf.errors.InvalidArgumentError, if shapes or ids do not fit.
    """
    # Only matrices are rounded, as in the kernels; a bias stays float32.
    scales = _scales(network, options)
    weights = [
        _rounded(array, scale, options.weights_dtype) if shape.is_matrix else array
        for array, scale, shape in zip(
            map(tf.convert_to_tensor, weights), scales, weight_shapes(network)
        )
    ]
    spikes = input_spikes(ids, counts)
    spike_counts = spikes.counts
    if spikes.filled.shape.rank == 2:
        spike_counts = tf.stack([spikes.counts, spikes.filled], axis=-1)
    given = checked_constants(network, options.constants)
    places = [(number, name) for number, of_layer in enumerate(given) for name in of_layer]
    drops = options.dropout_seed is not None
    call = _Call(network, places, len(weights), drops)
    dropout_seed = word64(options.dropout_seed if drops else 0)

    @tf.custom_gradient  # type: ignore[untyped-decorator] # TensorFlow has no types
    def run(port: Any, *tensors: Any) -> Any:
        entering = (spikes.ids, spike_counts, word64(options.seed), dropout_seed, *tensors)
        outputs = tf.numpy_function(call.forward, entering, [tf.float32] * call.outputs)

        def gradient(*grads: Any) -> List[Any]:
            types = [tf.float32] * (1 + len(tensors))
            found = tf.numpy_function(call.backward, (*entering, *outputs, *grads), types)
            for tensor, like in zip(found[1:], tensors):
                tensor.set_shape(like.shape)
            by_port = found[0] if port.shape.rank == 3 else tf.zeros_like(port)
            return [by_port, *found[1:]]

        return call.with_shapes(outputs, spikes.ids), gradient

    tensors = [*weights]
    tensors += [given[number][name] for number, name in places]
    outputs = list(run(spikes.port, *tensors))
    spiking, hidden = len(network.spiking), len(network.layers)
    membranes = outputs[1 + 3 * spiking : 1 + 3 * spiking + hidden]
    return LIFOutputs(
        membrane=outputs[0],
        spike_ids=outputs[1 : 1 + spiking],
        spike_counts=outputs[1 + spiking : 1 + 2 * spiking],
        dropped=outputs[1 + 2 * spiking : 1 + 3 * spiking],
        membranes=membranes if options.return_membranes else [],
    )


class _Call:
    """The reference on flat sequences of arrays, for tf.numpy_function."""

    def __init__(
        self, network: Network, places: List[Tuple[int, str]], weights: int, drops: bool
    ) -> None:
        self.network, self.places, self.weights, self.drops = network, places, weights, drops
        self.outputs = 1 + 3 * len(network.spiking) + len(network.layers)

    def forward(self, *arrays: np.ndarray) -> List[np.ndarray]:
        trace = self._trace(arrays)
        return [
            array.astype(np.float32)
            for array in (
                trace.membrane,
                *(layer.spike_ids for layer in trace.layers),
                *(layer.spike_counts for layer in trace.layers),
                *(layer.dropped for layer in trace.layers),
                *(layer.u for layer in trace.layers[: len(self.network.layers)]),
            )
        ]

    def backward(self, *arrays: np.ndarray) -> List[np.ndarray]:
        inputs = arrays[: len(arrays) - 2 * self.outputs]
        grads = arrays[-self.outputs :]
        spiking, hidden = len(self.network.spiking), len(self.network.layers)
        network, weights = self._network(inputs)
        found = reference.backward(
            *(network, weights, inputs[0], inputs[1], self._trace(inputs), grads[0]),
            grad_spikes=grads[1 : 1 + spiking],
            grad_u=grads[1 + 3 * spiking : 1 + 3 * spiking + hidden],
            dropout_seed=self._dropout_seed(inputs),
        )
        by_constant = []
        for (number, name), value in zip(self.places, inputs[FIRST + self.weights :]):
            grad = getattr(found.constants[number], name, None)
            by_constant.append(np.zeros(value.shape) if grad is None else grad)
        return [array.astype(np.float32) for array in (found.inputs, *found.weights, *by_constant)]

    def with_shapes(self, outputs: List[Any], ids: Any) -> List[Any]:
        """Set the static shapes of the outputs and return them."""
        steps, batch = ids.shape[:2] if ids.shape.rank is not None else (None, None)
        spiking = self.network.spiking
        ends = [[self.network.readout.neurons]]
        ends += [[layer.slots] for layer in spiking] + [[2]] * len(spiking) + [[]] * len(spiking)
        ends += [[layer.neurons] for layer in self.network.layers]
        for output, end in zip(outputs, ends):
            output.set_shape([steps, batch, *end])
        return outputs

    def _trace(self, arrays: Sequence[np.ndarray]) -> Trace:
        network, weights = self._network(arrays)
        return reference.forward(
            *(network, weights, arrays[0], arrays[1]),
            seed=int(arrays[2]) % 2**64,
            dropout_seed=self._dropout_seed(arrays),
        )

    def _dropout_seed(self, arrays: Sequence[np.ndarray]) -> Optional[int]:
        return int(arrays[3]) % 2**64 if self.drops else None

    def _network(self, arrays: Sequence[np.ndarray]) -> Tuple[Network, Arrays]:
        """Return the network with the replaced constants, and its weights."""
        weights = tuple(arrays[FIRST : FIRST + self.weights])
        changed: Dict[int, Dict[str, Any]] = {}
        for (number, name), value in zip(self.places, arrays[FIRST + self.weights :]):
            changed.setdefault(number, {})[name] = value.astype(np.float64)
        layers: List[Layer] = [
            replace(layer, **changed.get(number, {}))
            for number, layer in enumerate((*self.network.layers, self.network.readout))
        ]
        hidden: Any = tuple(layers[:-1])
        return replace(self.network, layers=hidden, readout=layers[-1]), weights


def _rounded(array: Any, scale: float, dtype: str) -> Any:
    """Return weights that, times the scale of a dropout, are rounded to the type."""
    return rounded(array, dtype) if scale == 1 else rounded(array * scale, dtype) / scale


def _scales(network: Network, options: RunOptions) -> List[float]:
    """Return the factor of each array of the weights in use, where these are rounded after it."""
    layers = (*network.layers, network.readout)
    if options.dropout_seed is None or options.weights_dtype == "float32":
        return [1.0] * len(weight_shapes(network))
    return [
        scale_of(layers[shape.layer].dropout) if shape.role == "input" else 1.0
        for shape in weight_shapes(network)
    ]
