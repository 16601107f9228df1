"""`sparse_to_dense` and `dense_to_sparse`, the TensorFlow ops of
ipulse_ops.reference.spikes."""

from __future__ import annotations

from typing import Any, List, Optional, Tuple

import tensorflow as tf

from ipulse_ops.sparse.native import library
from ipulse_ops.sparse.spike_tensors import spike_tensors
from ipulse_ops.unsupported import refuse_second_order
from ipulse_ops.validation import whole


def sparse_to_dense(ids: Any, counts: Any, neurons: int) -> Any:
    """float32 `[..., neurons]`: how often each neuron's id is listed among the spikes.

    ids, counts: as ipulse_ops.sparse.spike_matmul takes them. float32 ids get a gradient: a filled
    slot
    takes the value at its id, gradient-only neurons included.

    Raises tf.errors.InvalidArgumentError (ValueError while tracing) if shapes or ids do not fit,
    ValueError if they are no numbers or `neurons` is no whole number from 1.
    """
    ids, counts = spike_tensors(ids, counts)
    neurons = whole("neurons", neurons)
    return library().ipulse_sparse_to_dense(ids=ids, counts=counts, neurons=neurons)


def dense_to_sparse(dense: Any, capacity: Optional[int] = None) -> Tuple[Any, Any]:
    """Ids float32 `[..., slots]`, ascending, and counts float32 `[...]` of the ones.

    dense: `[..., neurons]` of zeros and ones, booleans or numbers.
    capacity: number of slots; None takes the largest count, and at least one, which is then
        unknown while tracing.

    The gradient by a neuron that spiked is that of its slot; others get none.

    Raises tf.errors.InvalidArgumentError if a value is neither 0 nor 1, or a row has more spikes
    than `capacity`; ValueError if they are no numbers or `capacity` is no whole number from 1.
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
