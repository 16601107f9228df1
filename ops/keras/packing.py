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
