"""Standardised weights in float64 NumPy: the equations and the reference implementation.

The input weights of a neuron, a column of the matrix W `[senders, neurons]`, are replaced by

    n = (W - mean(W)) / sqrt(mean((W - mean(W))^2))
    weights in use = std n

with a trained `std` per neuron; mean is over the senders. Where all weights of a neuron are equal
(a variance below 2^-100), n is 0. With g = dL/d(weights in use), the gradient is

    dL/dW = std / sqrt(variance) (g - mean(g) - n mean(g n))       dL/dstd = sum(g n)

This is the weight standardisation of Qiao et al., 2019, arXiv:1903.10520. It normalises the input
current of a neuron without reading any current: the forward pass on spikes does not change.
"""

from __future__ import annotations

from typing import Tuple

import numpy as np

TINY = 2.0**-100


def standardise(weights: np.ndarray, std: np.ndarray) -> np.ndarray:
    """Return the weights in use, float64 `[senders, neurons]`; std is `[neurons]`."""
    normal, _ = _normal(weights)
    in_use: np.ndarray = normal * std
    return in_use


def standardise_gradient(
    weights: np.ndarray, std: np.ndarray, grad: np.ndarray
) -> Tuple[np.ndarray, np.ndarray]:
    """Return the gradients by weights and std from that by the weights in use."""
    normal, factor = _normal(weights)
    by_weights = grad - grad.mean(axis=0) - normal * (grad * normal).mean(axis=0)
    return std * factor * by_weights, (grad * normal).sum(axis=0)


def _normal(weights: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
    centred = np.asarray(weights, np.float64) - np.mean(weights, axis=0, dtype=np.float64)
    variance = (centred**2).mean(axis=0)
    is_flat = variance < TINY
    factor = np.where(is_flat, 0.0, 1 / np.sqrt(np.where(is_flat, 1.0, variance)))
    return centred * factor, factor
