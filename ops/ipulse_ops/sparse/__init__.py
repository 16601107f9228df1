"""The steps of a sparse LIF layer as separate TensorFlow ops with gradients, on CPUs.

Their rules and judges are the NumPy functions of the same names in `ops`. Everything they give is
float32, so that all of it can carry a gradient.
"""

from __future__ import annotations

from ipulse_ops.sparse.conversion import dense_to_sparse, sparse_to_dense
from ipulse_ops.sparse.product import spike_matmul
from ipulse_ops.sparse.random import random_spikes
from ipulse_ops.sparse.selection import Selected, select_spikes

__all__ = [
    "Selected",
    "dense_to_sparse",
    "random_spikes",
    "select_spikes",
    "sparse_to_dense",
    "spike_matmul",
]
