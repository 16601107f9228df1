"""Compare gradients with the float64 reference on config S, before a system is timed."""

from __future__ import annotations

import zipfile
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.training.network import network_of
from benchmarks.training.workload import CONFIGS, draw
from ipulse_ops.lif.reference import network_pass as reference
from ipulse_ops.reference.spikes import dense_to_sparse

CONFIG = "S"


@cache
def reference_gradients(variant: str) -> tuple[float, tuple[np.ndarray, ...]]:
    """Return loss and dL/dW [N_in, N_out] at the initial weights, in float64."""
    work = draw(CONFIGS[CONFIG])
    network = network_of(work.config, variant)
    weights = [matrix.astype(np.float64) for matrix in work.weights]
    ids, counts = dense_to_sparse(work.spikes)
    trace = reference.forward(network, weights, ids, counts)
    logits = trace.membrane.mean(axis=0)
    logits -= logits.max(axis=1, keepdims=True)
    log_p = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    rows = np.arange(work.config.batch)
    grad = np.exp(log_p)
    grad[rows, work.labels] -= 1
    grad /= work.config.batch * work.config.steps
    by_membrane = np.broadcast_to(grad, trace.membrane.shape).copy()
    grads = reference.backward(network, weights, ids, counts, trace, by_membrane)
    return float(-log_p[rows, work.labels].mean()), tuple(grads.weights)


def gradient_error(path: Path, variant: str) -> float:
    """Return the largest difference of a stored gradient, relative to its matrix's largest entry.

    Raises ValueError if the file does not hold one gradient per matrix.
    """
    _, expected = reference_gradients(variant)
    try:
        with np.load(path) as arrays:
            gradients = [arrays[f"arr_{number}"] for number in range(len(expected))]
    except (KeyError, zipfile.BadZipFile) as error:
        raise ValueError(f"no gradients: {error}") from None
    for number, (gradient, right) in enumerate(zip(gradients, expected, strict=True)):
        if gradient.shape != right.shape:
            raise ValueError(f"gradient {number} is {gradient.shape}; it must be {right.shape}")
        if not np.isfinite(gradient).all():
            return float("inf")
    return max(
        float(np.abs(gradient - right).max() / np.abs(right).max())
        for gradient, right in zip(gradients, expected, strict=True)
    )
