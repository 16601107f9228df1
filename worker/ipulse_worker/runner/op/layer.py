"""A custom op as a layer in TensorFlow's graph."""

from __future__ import annotations

from typing import Any, List, Tuple

import numpy as np
import tensorflow as tf

from ipulse_ops.keras.single_layer import Spikes
from ipulse_ops.reference.spikes import sparse_to_dense
from ipulse_worker.runner.op.ops import CustomOps


class OpLayer:
    """Runs layer `index` of a network, from 0, on spikes of the layer before.

    A call takes ids `[steps, batch, slots]` and counts `[steps, batch]`, or
    `[steps, batch, 2]` with the filled slots, and returns Spikes with a slot for every neuron:
    those that did not spike carry gradient, too.
    """

    def __init__(self, ops: CustomOps, index: int, senders: int, neurons: int) -> None:
        self._ops, self._index = ops, index
        self._senders, self._neurons = senders, neurons

    def __call__(self, ids: Any, counts: Any) -> Spikes:
        """Return the spikes of the op."""
        counts = tf.cast(counts, tf.float32)
        if counts.shape.rank == 2:
            counts = tf.stack([counts, counts], axis=-1)
        made = self._run(tf.cast(ids, tf.float32), counts)
        return Spikes(*made)

    def _run(self, ids: Any, counts: Any) -> Tuple[Any, Any]:
        @tf.custom_gradient  # type: ignore[untyped-decorator] # TensorFlow has no types
        def apply(ids: Any, counts: Any) -> Tuple[Any, Any]:
            types = [tf.float32] * 4
            arrays = tf.numpy_function(self._forward, [ids, counts], types)
            made, sent, spikes, output = arrays
            made.set_shape([*ids.shape[:2], self._neurons])
            sent.set_shape([*ids.shape[:2], 2])

            def gradient(by_made: Any, _: Any) -> List[Any]:
                packed = [by_made, made, spikes, output, ids, counts]
                by_ids = tf.numpy_function(self._backward, packed, tf.float32)
                by_ids.set_shape(ids.shape)
                return [by_ids, None]

            return (made, sent), gradient

        made: Tuple[Any, Any] = apply(ids, counts)
        return made

    def _forward(self, ids: np.ndarray, counts: np.ndarray) -> List[np.ndarray]:
        """Return ids and counts of the op's spikes, its input and its output."""
        whole_ids, sent = ids.astype(np.int32), counts[..., 0].astype(np.int32)
        spikes = sparse_to_dense(whole_ids, sent, self._senders)
        output = self._ops.forward(self._index, spikes)
        return [*listed(output), spikes, output]

    def _backward(
        self,
        by_made: np.ndarray,
        made: np.ndarray,
        spikes: np.ndarray,
        output: np.ndarray,
        ids: np.ndarray,
        counts: np.ndarray,
    ) -> np.ndarray:
        """Return the gradient of the filled slots of `ids`."""
        by_output = np.empty_like(output)
        np.put_along_axis(by_output, made.astype(np.int32), by_made, axis=-1)
        by_spikes = self._ops.backward(self._index, by_output, spikes, output)
        is_filled = np.arange(ids.shape[-1]) < counts[..., 1:]
        at = np.where(is_filled, ids, 0).astype(np.int32)
        return np.where(is_filled, np.take_along_axis(by_spikes, at, axis=-1), np.float32(0))


def listed(dense: np.ndarray) -> List[np.ndarray]:
    """Return ids `[steps, batch, neurons]`, those that spike first, and counts, in float32."""
    silent = (dense == 0).astype(np.uint8)
    ids = np.argsort(silent, axis=-1, kind="stable").astype(np.float32)
    sent = dense.sum(axis=-1, dtype=np.float32)
    return [ids, np.stack([sent, np.full_like(sent, dense.shape[-1])], axis=-1)]
