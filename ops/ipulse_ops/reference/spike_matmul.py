"""A weight matrix times sparse spikes, and the gradients of that product."""

from __future__ import annotations

from typing import Tuple

import numpy as np

from ipulse_ops.reference.spikes import check_shape, check_spikes, sparse_to_dense


def spike_matmul(weights: np.ndarray, ids: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Sum the rows of the weights that belong to the spikes: float64 `[time, batch, N_out]`.

    weights: `[N_in, N_out]`, one row per presynaptic neuron.
    ids, counts: `[time, batch, slots]` and `[time, batch]`; or counts `[time, batch, 2]`, spikes
        and filled slots. Only spikes are summed, in the order of their slots, so that the result is
        the same to the bit on every machine. An id listed twice counts twice.

    Raises ValueError if the ids are not spikes of N_in neurons.
    """
    spikes, _ = both_counts(ids, counts, len(weights))
    product = np.zeros((*spikes.shape, weights.shape[1]))
    for k in range(spikes.max(initial=0)):
        used = k < spikes
        product[used] += weights[ids[..., k][used]]
    return product


def spike_matmul_gradients(
    weights: np.ndarray, ids: np.ndarray, counts: np.ndarray, grad_product: np.ndarray
) -> Tuple[np.ndarray, np.ndarray]:
    """Return a loss's gradients of weights `[N_in, N_out]` and slots `[time, batch, slots]`.

    grad_product: `[time, batch, N_out]`, the loss's derivative with respect to the product.

    The gradient of the weights is summed over spikes. That of the slots covers all filled slots,
    including gradient-only neurons, and is 0 in the others.

    Raises what `spike_matmul` raises.
    """
    spikes, in_use = both_counts(ids, counts, len(weights))
    check_shape("grad_product", grad_product, (*spikes.shape, weights.shape[1]))
    grad_slots = np.zeros(ids.shape)
    t, b, k = np.nonzero(np.arange(ids.shape[2]) < in_use[..., None])
    grad_slots[t, b, k] = np.einsum("sn,sn->s", weights[ids[t, b, k]], grad_product[t, b])
    return matrix_gradient(ids, spikes, grad_product, len(weights)), grad_slots


def matrix_gradient(
    ids: np.ndarray, counts: np.ndarray, grad_product: np.ndarray, n_in: int
) -> np.ndarray:
    """Return the gradient of the weights `[n_in, N_out]`; counts `[time, batch]` of the spikes."""
    spikes = sparse_to_dense(ids, counts, n_in).reshape(-1, n_in).astype(np.float64)
    grad: np.ndarray = spikes.T @ grad_product.reshape(-1, grad_product.shape[2])
    return grad


def both_counts(ids: np.ndarray, counts: np.ndarray, neurons: int) -> Tuple[np.ndarray, np.ndarray]:
    """Return the numbers of spikes and of filled slots, `[time, batch]` each.

    counts: `[time, batch]`; or `[time, batch, 2]`, spikes and filled slots.

    Raises what ipulse_ops.reference.spikes.check_spikes raises.
    """
    if counts.ndim == 3 and counts.shape[2] == 2:
        spikes, in_use = counts[..., 0], counts[..., 1]
        if np.any((spikes < 0) | (spikes > in_use)):
            raise ValueError("counts must be (spikes, filled slots)")
    else:
        spikes = in_use = counts
    check_spikes(ids, in_use, neurons)
    return spikes, in_use
