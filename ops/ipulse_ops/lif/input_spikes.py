"""Converts a network's input spikes to the types that the kernels read."""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow as tf

from ipulse_ops.validation import to_int32


class InputSpikes(NamedTuple):
    """Input spikes as the op takes them."""

    ids: Any  # int32 or uint16 [time, batch, slots]
    counts: Any  # int32 [time, batch]: spikes
    filled: Any  # int32 [time, batch]: slots that receive a gradient; [0] if equal to counts
    port: Any  # float32: the ids if they can carry a gradient, else [0]


def input_spikes(ids: Any, counts: Any) -> InputSpikes:
    """Convert ids and counts of any numeric type.

    ids: `[time, batch, slots]`.
    counts: `[time, batch]`; or `[time, batch, 2]`, spikes and filled slots.

    Raises ValueError if they are not numeric or their shapes do not fit.
    """
    ids, counts = tf.convert_to_tensor(ids), tf.convert_to_tensor(counts)
    leading = ids.shape[:2]
    if ids.shape.rank not in (None, 3) or not (
        counts.shape.is_compatible_with(leading)
        or counts.shape.is_compatible_with(leading.concatenate(2))
    ):
        raise ValueError(
            "ids must be [time, batch, slots] and counts [time, batch] or [time, batch, 2]; "
            f"got shapes {tuple(ids.shape)} and {tuple(counts.shape)}"
        )
    filled = tf.zeros([0], tf.int32)
    both = counts if counts.shape.rank == 3 and counts.shape[2] == 2 else None
    if both is not None:
        counts = both[..., 0]
    port = tf.zeros([0])
    if ids.dtype.is_floating:
        if both is not None:
            filled = to_int32("counts", both[..., 1])
        port = tf.cast(ids, tf.float32)
        ids = to_int32("ids", tf.stop_gradient(ids))
    elif ids.dtype != tf.uint16:
        ids = to_int32("ids", ids)
    return InputSpikes(ids, to_int32("counts", counts), filled, port)
