"""Lists of spikes in TensorFlow: `[time, batch, slots]`, changed without an op of our own."""

from __future__ import annotations

from typing import Any, Tuple

import tensorflow as tf


def later(tensor: Any, steps: int) -> Any:
    """Delay a tensor `[time, ...]` by some steps, and fill with zeros."""
    tensor = tf.convert_to_tensor(tensor)
    if not steps:
        return tensor
    steps = min(steps, tensor.shape[0] or steps)
    return tf.concat([tf.zeros_like(tensor[:steps]), tensor[:-steps]], axis=0)


def sorted_lists(ids: Any, counts: Any, slots: int) -> Tuple[Any, Any]:
    """Sort spikes and then the other filled slots by id; 0 behind them.

    ids: `[time, batch, up to slots]`; the results have `slots`.
    counts: `[time, batch]`, or `[time, batch, 2]`, spikes and filled slots.
    """
    steps, batch = counts.shape[:2]
    ids = tf.pad(ids, [[0, 0], [0, 0], [0, slots - tf.shape(ids)[2]]])
    ids = tf.reshape(ids, [steps, batch, slots])
    both = counts if counts.shape.rank == 3 else tf.stack([counts, counts], axis=-1)
    number = tf.cast(both, tf.int32)[:, :, tf.newaxis]
    place = tf.range(slots)[:, tf.newaxis]
    # 0 for spikes, 1 for other filled slots, 2 for those behind them.
    part = tf.cast(tf.reduce_sum(tf.cast(place >= number, tf.int32), axis=-1), tf.int64)
    key = part * 2**32 + tf.cast(ids, tf.int64)
    order = tf.argsort(key, axis=-1, stable=True)
    found = tf.gather(ids, order, axis=2, batch_dims=2)
    filled = tf.range(slots) < number[..., 1]
    return tf.where(filled, found, tf.zeros_like(found)), counts
