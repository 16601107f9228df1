"""A cell's inputs and outputs as one tensor each: Keras 3's RNN takes and gives no more."""

from __future__ import annotations

from typing import Any, List, Sequence

import tensorflow as tf


def pack_spikes(ids: Any, counts: Any) -> Any:
    """float32 `[..., slots + 2]`: spikes, filled slots, then the ids.

    ids `[..., slots]`; counts `[...]`, or `[..., 2]`, spikes and filled slots. float32 ids get a
    gradient.

    Raises ValueError if their shapes do not fit each other.
    """
    ids, counts = tf.cast(ids, tf.float32), tf.cast(counts, tf.float32)
    if ids.shape.rank is not None and counts.shape.rank is not None:
        leading = ids.shape[:-1]
        if not any(
            counts.shape.is_compatible_with(shape) for shape in (leading, leading.concatenate(2))
        ):
            raise ValueError(
                f"counts must have the shape of ids without its slots, {tuple(leading)}, or that "
                f"and an axis of 2; got {tuple(counts.shape)}"
            )
    if counts.shape.rank < ids.shape.rank:
        counts = tf.stack([counts, counts], axis=-1)
    return tf.concat([counts, ids], axis=-1)


def binary(spikes: Any) -> Any:
    """Dense spikes, whose use raises tf.errors.InvalidArgumentError unless each is 0 or 1."""
    # A sum of floats runs in vectors; the conjunction of comparisons takes several times as long.
    wrong = tf.reduce_sum(tf.abs(spikes * (spikes - 1)))
    return _asserted(wrong == 0, "dense spikes must be 0 or 1", spikes)


def not_dense(packed: Any) -> Any:
    """Packed spikes, whose use raises tf.errors.InvalidArgumentError if they look like dense ones.

    These are zeros and ones, some of which lie behind the slots that the first two say are filled:
    no such slot of `pack_spikes` has anything to say, and ours are 0.
    """
    slots = packed.shape[-1] - 2
    behind = tf.range(slots, dtype=tf.float32) >= packed[:, 1:2]
    misplaced = tf.reduce_any(behind & (packed[:, 2:] == 1)) | tf.reduce_any(
        packed[:, 0] > packed[:, 1]
    )
    dense = misplaced & tf.reduce_all((packed == 0) | (packed == 1))
    message = (
        "spikes must be ids and counts, as pack_spikes packs them; got zeros and ones for each "
        "channel: pack them by "
        "pack_spikes(*ipulse_ops.sparse.dense_to_sparse(spikes, capacity))"
    )
    return _asserted(~dense, message, packed)


def _asserted(condition: Any, message: str, tensor: Any) -> Any:
    with tf.control_dependencies([tf.debugging.Assert(condition, [message])]):
        return tf.identity(tensor)


def parts(packed: Any, sizes: Sequence[int]) -> List[Any]:
    """The tensors whose last axes were joined; a size of 0 stands for one without such an axis.

    Raises ValueError if they are not as long as that.
    """
    packed, expected = tf.convert_to_tensor(packed), sum(max(size, 1) for size in sizes)
    if packed.shape[-1] not in (None, expected):
        raise ValueError(
            f"packed outputs must have {expected} values in their last axis; got shape "
            f"{tuple(packed.shape)}"
        )
    pieces = tf.split(packed, [max(size, 1) for size in sizes], axis=-1)
    return [piece if size else piece[..., 0] for piece, size in zip(pieces, sizes)]
