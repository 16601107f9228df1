"""`spike_matmul` as a TensorFlow op."""

from __future__ import annotations

from typing import Any, List

import tensorflow as tf

from ipulse_ops.sparse.native import library
from ipulse_ops.sparse.spike_tensors import spike_tensors
from ipulse_ops.unsupported import refuse_second_order


def spike_matmul(weights: Any, ids: Any, counts: Any) -> Any:
    """Sum the rows of the weights that belong to the spikes: float32 `[..., N_out]`.

    weights: float32 `[N_in, N_out]`.
    ids: `[..., slots]` of any numeric type; `...` is one or more axes, such as time and batch.
    counts: `[...]` of any numeric type; or `[..., 2]`, spikes and filled slots. Only spikes are
        summed, in the order of their slots, so that the result is the same to the bit for any
        number of threads. An id listed twice counts twice.

    The gradient with respect to the weights sums over spikes. float32 ids receive a gradient, too:
    dL/ds of the neuron in each filled slot, including gradient-only neurons, and 0 in other slots.

    Raises tf.errors.InvalidArgumentError (ValueError while tracing) if shapes or ids do not fit,
    ValueError if they are not numeric.
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
