"""The pooled sites of spikes as a TensorFlow op."""

from __future__ import annotations

from typing import Any, List, Tuple

import numpy as np
import tensorflow as tf

from ipulse_ops.sparse.native import library
from ipulse_ops.sparse.spike_tensors import spike_tensors
from ipulse_ops.unsupported import refuse_second_order


def pooled_spikes(ids: Any, counts: Any, sites: np.ndarray) -> Tuple[Any, Any]:
    """Return the sites of spikes: ids float32 `[..., slots]` and counts float32 `[..., 2]`.

    The slots have the site of every spike in its order, so that a site may be listed several times
    and counts each time; then each site of gradient-only neurons once, in the order of the first.
    There are as many as the longest list needs. Cropped neurons are left out.

    The gradient of a slot goes to its spike, or to each gradient-only neuron of its site.

    ids, counts: as for ipulse_ops.sparse.spike_matmul.
    sites: int32 `[neurons]`, the site of each neuron, or -1 for a cropped one.

    Raises tf.errors.InvalidArgumentError (ValueError while tracing) if shapes or numbers do not
    fit.
    """
    ids, counts = spike_tensors(ids, counts)
    return tuple(library().ipulse_pooled_spikes(ids=ids, counts=counts, sites=sites))


def _gradient(op: Any, grad_ids: Any, _: Any) -> List[Any]:
    ids, counts, sites = op.inputs
    if ids.dtype != tf.float32:
        return [None, None, None]
    by_ids = library().ipulse_pooled_spikes_grad(
        ids=ids, counts=counts, sites=sites, grad_pooled=grad_ids
    )
    return [by_ids, None, None]


tf.RegisterGradient("IpulsePooledSpikes")(_gradient)
refuse_second_order("IpulsePooledSpikesGrad")
