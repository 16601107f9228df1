"""The spikes of kept senders as a TensorFlow op: dropout at the layer that receives them."""

from __future__ import annotations

from typing import Any, List, Tuple

import tensorflow as tf

from ipulse_ops.reference.dropout import limit_of
from ipulse_ops.sparse.native import library
from ipulse_ops.sparse.seed import word64
from ipulse_ops.sparse.spike_tensors import spike_tensors
from ipulse_ops.unsupported import refuse_second_order
from ipulse_ops.validation import whole


def kept_spikes(
    ids: Any, counts: Any, neurons: int, rate: float, seed: Any, layer: int = 0
) -> Tuple[Any, Any]:
    """Return the spikes of kept senders: ids float32 `[time, batch, slots]` and their counts.

    The counts are float32 `[time, batch, 2]`, spikes and filled slots. There are as many slots as
    the longest list needs. The masks equal those of
    ipulse_ops.reference.dropout to the bit, on every machine and with any number of threads.

    ids, counts: spikes, as run_network takes them. float32 ids receive the gradient of their slots,
        0 where the sender was dropped; those of other types carry none.
    neurons: number of the senders.
    rate: probability of dropping a sender for a whole sample, at least 0 and less than 1.
    seed: 0 to 2^64 - 1, or an int64 tensor.
    layer: number of the receiving layer.

    Raises tf.errors.InvalidArgumentError (ValueError while tracing) if shapes or ids do not fit;
    ValueError if an argument is out of range.
    """
    if not 0 <= rate < 1:
        raise ValueError(f"rate must be at least 0 and less than 1; got {rate!r}")
    ids, counts = spike_tensors(ids, counts)
    found = library().ipulse_kept_spikes(
        ids=ids,
        counts=counts,
        seed=word64(seed),
        neurons=whole("neurons", neurons),
        layer=whole("layer", layer, 0),
        limit=limit_of(rate),
    )
    if not ids.dtype.is_floating:  # an input that nobody differentiates by
        return tf.cast(found.kept_ids, tf.int32), tf.cast(found.kept_counts[..., 0], tf.int32)
    return tuple(found)


def _gradient(op: Any, grad_kept: Any, _: Any) -> List[Any]:
    ids, counts, seed = op.inputs
    if ids.dtype != tf.float32:
        return [None, None, None]
    by_ids = library().ipulse_kept_spikes_grad(
        ids=ids,
        counts=counts,
        seed=seed,
        grad_kept=grad_kept,
        **{name: op.get_attr(name) for name in ("neurons", "layer", "limit")},
    )
    return [by_ids, None, None]


tf.RegisterGradient("IpulseKeptSpikes")(_gradient)
refuse_second_order("IpulseKeptSpikesGrad")
