"""The Poplar ops around the neurons of a convolution in TensorFlow, for whole sequences."""

from __future__ import annotations

from typing import Any, NamedTuple, Optional, Tuple

import numpy as np
import tensorflow as tf

from ipulse_core.spec.conv_geometry import ConvGeometry
from ipulse_ops.lif.poplar.attributes import geometry_word
from ipulse_ops.lif.poplar.sources import BuiltOp
from ipulse_ops.lif.poplar.step_ops import run_small_op
from ipulse_ops.lif.poplar.user_op import PrecompiledUserOp


class PoplarConvOps(NamedTuple):
    """spike_conv and pooled_spikes for ids `[time, batch, slots]` with static shapes."""

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
        """Run ipulse_ops.conv.spike_conv.spike_conv, to the same bits.

        Ids that are no input's are ignored. ids of a type other than float32 carry no gradient.
        """
        if input_scale != 1.0:
            kernel = kernel * np.float32(input_scale)
        words = f"ipulse-spike-conv/1 {geometry_word(geometry)}"
        ids = tf.convert_to_tensor(ids)
        inputs = [kernel, tf.cast(ids, tf.float32), tf.cast(counts, tf.float32)]
        with_gradients = [0, 1]
        if not ids.dtype.is_floating:
            words += " weights_only"
            with_gradients = [0]
        if bias is not None:
            words += " bias"
            with_gradients.append(len(inputs))
            inputs.append(bias)
        shape = (*ids.shape[:2], geometry.neurons)
        named = "SpikeConv", words, inputs, [shape], with_gradients
        return run_small_op(self.user_op, self.built, *named)[0]

    def pooled_spikes(self, geometry: ConvGeometry, ids: Any, counts: Any) -> Tuple[Any, Any]:
        """Run ipulse_ops.sparse.pooled_spikes for the geometry's pool; counts `[time, batch, 2]`.

        There are as many slots as in ids.
        """
        words = f"ipulse-pooled-spikes/1 {geometry_word(geometry)}"
        shapes = [tuple(ids.shape), (*ids.shape[:2], 2)]
        named = "PooledSpikes", words, [ids, counts], shapes, [0]
        pooled, pooled_counts = run_small_op(self.user_op, self.built, *named)
        return pooled, pooled_counts
