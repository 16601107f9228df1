"""`spike_matmul`, the TensorFlow op of ipulse_ops.reference.spike_matmul."""

from __future__ import annotations

from typing import Any, List

import tensorflow as tf

from ipulse_ops.sparse.native import library
from ipulse_ops.sparse.spike_tensors import spike_tensors
from ipulse_ops.unsupported import refuse_second_order


def spike_matmul(weights: Any, ids: Any, counts: Any) -> Any:
    """float32 `[..., N_out]`: of each row the sum of its spikes' rows of the weights.

    weights: float32 `[N_in, N_out]`.
    ids: `[..., slots]`, where `...` is one axis or more, for instance time and batch.
    counts: `[...]`, or `[..., 2]`, spikes and filled slots. Only spikes are summed, in the order of
        their slots and whatever the threads: the same to the bit everywhere. An id listed twice
        counts twice.

    Both are whole numbers of any type.

    The gradient by the weights sums over spikes. float32 ids get one, too: a filled slot's is that
    by its neuron's spike, gradient-only neurons included, and 0 behind them.

    Raises tf.errors.InvalidArgumentError (ValueError while tracing) if shapes or ids do not fit,
    ValueError if they are no numbers.
    """
    ids, counts = spike_tensors(ids, counts)
    return library().ipulse_spike_matmul(weights=weights, ids=ids, counts=counts)


def _gradient(op: Any, grad_product: Any) -> List[Any]:
    weights, ids, counts = op.inputs
    arguments = {"weights": weights, "ids": ids, "counts": counts, "grad_product": grad_product}
    grad_slots = None
    if ids.dtype == tf.float32:
        grad_slots = library().ipulse_spike_matmul_grad_slots(**arguments)
    return [library().ipulse_spike_matmul_grad_weights(**arguments), grad_slots, None]


tf.RegisterGradient("IpulseSpikeMatmul")(_gradient)
refuse_second_order("IpulseSpikeMatmulGradWeights", "IpulseSpikeMatmulGradSlots")
