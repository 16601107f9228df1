"""The operations of a sparse LIF layer as separate TensorFlow ops with gradients, on CPUs.

ipulse_ops.reference has NumPy reference implementations of the same names. All outputs are
float32, so that each can carry a gradient.
"""

from __future__ import annotations

from ipulse_ops.sparse.addition import added_spikes
from ipulse_ops.sparse.conversion import dense_to_sparse, sparse_to_dense
from ipulse_ops.sparse.delay import delayed_spikes
from ipulse_ops.sparse.dropout import kept_spikes
from ipulse_ops.sparse.pool import pooled_spikes
from ipulse_ops.sparse.product import spike_matmul
from ipulse_ops.sparse.random import random_spikes
from ipulse_ops.sparse.selection import Selected, select_spikes

__all__ = [
    "Selected",
    "added_spikes",
    "delayed_spikes",
    "dense_to_sparse",
    "kept_spikes",
    "pooled_spikes",
    "random_spikes",
    "select_spikes",
    "sparse_to_dense",
    "spike_matmul",
]
