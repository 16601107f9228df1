"""The sum of spikes of several layers as a TensorFlow op."""

from __future__ import annotations

from typing import Any, List, Sequence, Tuple

import tensorflow as tf

from ipulse_ops.sparse.native import library
from ipulse_ops.unsupported import refuse_second_order
from ipulse_ops.validation import whole


def added_spikes(spikes: Sequence[Tuple[Any, Any]], neurons: int) -> Tuple[Any, Any]:
    """Add the spikes of layers with equally many neurons: their lists, one behind the other.

    Returns ids float32 `[..., slots]` and counts float32 `[..., 2]`, spikes and filled slots; with
    as many slots as the longest list needs. An id that several layers list is listed several times
    and counts each time.

    spikes: ids `[..., slots]` and counts, `[...]` or `[..., 2]`, of each layer. float32 ids receive
        the gradient of their slots.

    Raises tf.errors.InvalidArgumentError (ValueError while tracing) if shapes or ids do not fit,
    ValueError if `neurons` is not an integer of at least 1.
    """
    found = library().ipulse_added_spikes(
        ids=[tf.cast(ids, tf.float32) for ids, _ in spikes],
        counts=[tf.cast(counts, tf.float32) for _, counts in spikes],
        neurons=whole("neurons", neurons),
    )
    return tuple(found)


def _gradient(op: Any, grad_added: Any, _: Any) -> List[Any]:
    lists = op.get_attr("N")
    found = library().ipulse_added_spikes_grad(
        ids=op.inputs[:lists],
        counts=op.inputs[lists:],
        grad_added=grad_added,
        neurons=op.get_attr("neurons"),
    )
    return [*found, *[None] * lists]


tf.RegisterGradient("IpulseAddedSpikes")(_gradient)
refuse_second_order("IpulseAddedSpikesGrad")
