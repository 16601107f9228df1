"""A cell's inputs and outputs as one tensor each: Keras 3's RNN takes and gives no more."""

from __future__ import annotations

from typing import Any, List, Sequence

import tensorflow as tf


def pack_spikes(ids: Any, counts: Any) -> Any:
    """float32 `[..., slots + 2]`: spikes, filled slots, then the ids.

    ids `[..., slots]`; counts `[...]`, or `[..., 2]`, spikes and filled slots. float32 ids get a
    gradient.
    """
    ids, counts = tf.cast(ids, tf.float32), tf.cast(counts, tf.float32)
    if counts.shape.rank < ids.shape.rank:
        counts = tf.stack([counts, counts], axis=-1)
    return tf.concat([counts, ids], axis=-1)


def parts(packed: Any, sizes: Sequence[int]) -> List[Any]:
    """The tensors whose last axes were joined; a size of 0 stands for one without such an axis."""
    pieces = tf.split(packed, [max(size, 1) for size in sizes], axis=-1)
    return [piece if size else piece[..., 0] for piece, size in zip(pieces, sizes)]
