"""`sparse_to_dense` and `dense_to_sparse` as TensorFlow ops."""

from __future__ import annotations

from typing import Any, List, Optional, Tuple

import tensorflow as tf

from ipulse_ops.sparse.native import library
from ipulse_ops.sparse.spike_tensors import spike_tensors
from ipulse_ops.unsupported import refuse_second_order
from ipulse_ops.validation import whole


def sparse_to_dense(ids: Any, counts: Any, neurons: int) -> Any:
    """Count how often each neuron's id is among the spikes: float32 `[..., neurons]`.

    ids, counts: as for ipulse_ops.sparse.spike_matmul. float32 ids receive a gradient: each filled
        slot, including those of gradient-only neurons, receives the value at its id.

    Raises tf.errors.InvalidArgumentError (ValueError while tracing) if shapes or ids do not fit,
    ValueError if they are not numeric or `neurons` is not an integer of at least 1.
    """
    ids, counts = spike_tensors(ids, counts)
    neurons = whole("neurons", neurons)
    return library().ipulse_sparse_to_dense(ids=ids, counts=counts, neurons=neurons)


def dense_to_sparse(dense: Any, capacity: Optional[int] = None) -> Tuple[Any, Any]:
    """List the ones: ids float32 `[..., slots]`, ascending, and counts float32 `[...]`.

    dense: `[..., neurons]` of zeros and ones, booleans or numbers.
    capacity: number of slots; None uses the largest count, at least 1, which is then unknown while
        tracing.

    A neuron that spiked receives the gradient of its slot; the others receive none.

    Raises tf.errors.InvalidArgumentError if a value is neither 0 nor 1, or a row has more spikes
    than `capacity`; ValueError if the values are not numeric or `capacity` is not an integer of at
    least 1.
    """
    dense = tf.convert_to_tensor(dense)
    if not (dense.dtype.is_floating or dense.dtype.is_integer or dense.dtype.is_bool):
        raise ValueError(f"dense spikes must be numbers; got {dense.dtype.name}")
    slots = 0 if capacity is None else whole("capacity", capacity)
    dense = tf.cast(dense, tf.float32)
    return tuple(library().ipulse_dense_to_sparse(dense=dense, capacity=slots))


def _sparse_to_dense_gradient(op: Any, grad_dense: Any) -> List[Any]:
    ids, counts = op.inputs
    if ids.dtype != tf.float32:
        return [None, None]
    return [library().ipulse_gather_slots(ids=ids, counts=counts, dense=grad_dense), None]


def _dense_to_sparse_gradient(op: Any, grad_ids: Any, _: Any) -> Any:
    ids, counts = op.outputs
    neurons = op.inputs[0].shape[-1]
    if neurons is None:
        raise ValueError("the gradient of dense_to_sparse needs the neurons to be known")
    return library().ipulse_scatter_slots(ids=ids, counts=counts, slots=grad_ids, neurons=neurons)


tf.RegisterGradient("IpulseSparseToDense")(_sparse_to_dense_gradient)
tf.RegisterGradient("IpulseDenseToSparse")(_dense_to_sparse_gradient)
refuse_second_order("IpulseGatherSlots", "IpulseScatterSlots")
