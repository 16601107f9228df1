"""The float64 reference's gradients on config S, which every side is held to before it is timed."""

from __future__ import annotations

import zipfile
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.ours import network_of
from benchmarks.workload import CONFIGS, draw
from ipulse_ops.lif.reference import network_pass as reference
from ipulse_ops.reference.spikes import dense_to_sparse

CONFIG = "S"


@cache
def truth(second_threshold: float | None) -> tuple[float, tuple[np.ndarray, ...]]:
    """Loss and dL/dW [N_in, N_out] at the initial weights, float64."""
    work = draw(CONFIGS[CONFIG])
    network = network_of(work.config, second_threshold)
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
    grads = reference.backward(
        network, weights, ids, counts, trace, np.broadcast_to(grad, trace.membrane.shape).copy()
    )
    return float(-log_p[rows, work.labels].mean()), tuple(grads.weights)


def deviation(path: Path, second_threshold: float | None) -> float:
    """Greatest difference of a gradient in the file from the truth, relative to the greatest entry
    of its matrix. Raises ValueError if the file does not hold a gradient per matrix.
    """
    _, expected = truth(second_threshold)
    try:
        with np.load(path) as arrays:
            found = [arrays[f"arr_{number}"] for number in range(len(expected))]
    except (KeyError, zipfile.BadZipFile) as error:
        raise ValueError(f"no gradients: {error}") from None
    for number, (one, judge) in enumerate(zip(found, expected, strict=True)):
        if one.shape != judge.shape:
            raise ValueError(f"gradient {number} is {one.shape}; it must be {judge.shape}")
        if not np.isfinite(one).all():
            return float("inf")
    return max(
        float(np.abs(one - judge).max() / np.abs(judge).max())
        for one, judge in zip(found, expected, strict=True)
    )
