"""The Poplar ops of convolutions in TensorFlow, for whole sequences."""

from __future__ import annotations

from typing import Any, List, NamedTuple, Optional, Tuple

import numpy as np
import tensorflow as tf

from ipulse_core.spec.conv_geometry import ConvGeometry
from ipulse_ops.lif.conv_layer import ConvLIF
from ipulse_ops.lif.poplar.attributes import conv_lif_attributes, geometry_word
from ipulse_ops.lif.poplar.sources import BuiltOp
from ipulse_ops.lif.poplar.step_ops import run_small_op
from ipulse_ops.lif.poplar.user_op import PrecompiledUserOp


class PoplarConvOps(NamedTuple):
    """Convolutions and pools for ids `[time, batch, slots]` with static shapes.

    Ids that are no input's are ignored. ids of a type other than float32 carry no gradient.
    """

    user_op: PrecompiledUserOp
    built: BuiltOp

    def spike_conv(
        self,
        geometry: ConvGeometry,
        kernel: Any,
        ids: Any,
        counts: Any,
        bias: Optional[Any] = None,
        input_scale: float = 1.0,
    ) -> Any:
        """Run ipulse_ops.conv.spike_conv.spike_conv, to the same bits."""
        if input_scale != 1.0:
            kernel = kernel * np.float32(input_scale)
        words = f"ipulse-spike-conv/1 {geometry_word(geometry)}"
        inputs, with_gradients = _inputs(kernel, ids, counts, bias)
        words += " weights_only" if 1 not in with_gradients else ""
        words += "" if bias is None else " bias"
        ids = inputs[1]
        shape = (*ids.shape[:2], geometry.neurons)
        named = "SpikeConv", words, inputs, [shape], with_gradients
        return run_small_op(self.user_op, self.built, *named)[0]

    def conv_lif(
        self,
        layer: ConvLIF,
        kernel: Any,
        ids: Any,
        counts: Any,
        bias: Optional[Any] = None,
        second_threshold: Optional[Any] = None,
    ) -> Tuple[Any, Any]:
        """Run a layer's neurons, without its delay and pool.

        All results have the bits of ipulse_ops.conv.tensorflow_op, but for gradients with the
        surrogate Exponential, which may differ in the last ones.

        second_threshold: a scalar tensor that replaces the layer's.

        Returns ids of spikes, then of others that carry gradient, with a slot per neuron, and
        counts `[time, batch, 2]`.
        """
        scale = np.float32(layer.scale * layer.input_scale)
        bias = None if bias is None else bias * np.float32(layer.scale)
        inputs, with_gradients = _inputs(kernel * scale, ids, counts, bias)
        if layer.second_threshold is not None:
            second = layer.second_threshold if second_threshold is None else second_threshold
            inputs.append(tf.reshape(tf.cast(second, tf.float32), [1]))
        words = conv_lif_attributes(layer, weights_only=1 not in with_gradients)
        steps, batch, _ = inputs[1].shape
        shapes = [(steps, batch, layer.geometry.neurons), (steps, batch, 2)]
        named = "ConvLIF", words, inputs, shapes, with_gradients
        found, found_counts = run_small_op(self.user_op, self.built, *named)
        return found, found_counts

    def pooled_spikes(self, geometry: ConvGeometry, ids: Any, counts: Any) -> Tuple[Any, Any]:
        """Run ipulse_ops.sparse.pooled_spikes for the geometry's pool; counts `[time, batch, 2]`.

        There are as many slots as in ids.
        """
        words = f"ipulse-pooled-spikes/1 {geometry_word(geometry)}"
        shapes = [tuple(ids.shape), (*ids.shape[:2], 2)]
        named = "PooledSpikes", words, [ids, counts], shapes, [0]
        pooled, pooled_counts = run_small_op(self.user_op, self.built, *named)
        return pooled, pooled_counts


def _inputs(kernel: Any, ids: Any, counts: Any, bias: Optional[Any]) -> Tuple[List[Any], List[int]]:
    """Return the inputs of a convolution, and the places of those that receive a gradient."""
    ids = tf.convert_to_tensor(ids)
    inputs = [kernel, tf.cast(ids, tf.float32), tf.cast(counts, tf.float32)]
    with_gradients = [0, 1] if ids.dtype.is_floating else [0]
    if bias is not None:
        with_gradients.append(len(inputs))
        inputs.append(bias)
    return inputs, with_gradients
