"""Spikes that arrive later, some of them several times, as a TensorFlow op."""

from __future__ import annotations

from typing import Any, List, Tuple

import tensorflow as tf

from ipulse_ops.sparse.native import library
from ipulse_ops.sparse.spike_tensors import spike_tensors
from ipulse_ops.unsupported import refuse_second_order


def delayed_spikes(ids: Any, counts: Any, arrivals: Any) -> Tuple[Any, Any]:
    """Return the spikes of all taps: ids float32 `[time, batch, slots]` and their counts.

    The counts are float32 `[time, batch, 2]`, spikes and filled slots. There are as many slots as
    the longest list needs. The lists are those of ipulse_ops.reference.connection_delays.

    ids, counts: spikes, as run_network takes them. float32 ids receive the gradient of their slots,
        summed over taps; those of other types carry none.
    arrivals: int32 `[taps, senders]`, the steps after which a sender's spike arrives as id
        `tap * senders + sender`; below 0: never.

    Raises tf.errors.InvalidArgumentError (ValueError while tracing) if shapes or ids do not fit.
    """
    ids, counts = spike_tensors(ids, counts)
    found = library().ipulse_delayed_spikes(ids=ids, counts=counts, arrivals=arrivals)
    if not ids.dtype.is_floating:  # an input that nobody differentiates by
        return tf.cast(found.delayed_ids, tf.int32), tf.cast(found.delayed_counts[..., 0], tf.int32)
    return tuple(found)


def _gradient(op: Any, grad_delayed: Any, _: Any) -> List[Any]:
    ids, counts, arrivals = op.inputs
    if ids.dtype != tf.float32:
        return [None, None, None]
    by_ids = library().ipulse_delayed_spikes_grad(
        ids=ids,
        counts=counts,
        arrivals=arrivals,
        delayed_counts=op.outputs[1],
        grad_delayed=grad_delayed,
    )
    return [by_ids, None, None]


tf.RegisterGradient("IpulseDelayedSpikes")(_gradient)
refuse_second_order("IpulseDelayedSpikesGrad")
