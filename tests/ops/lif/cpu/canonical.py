"""The sums of the backward pass in NumPy, in the order that every kernel must keep."""

from __future__ import annotations

import numpy as np

LANES = 16
CHUNKS = (128, 64, 32, 16)  # neurons
PARTS = 8


def fused(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """a * b + c of float32 numbers, rounded once.

    The product is exact in float64. The sum is rounded to odd there, which makes the second
    rounding right.
    """
    product = a.astype(np.float64) * b
    total = product + c
    of_term = total - product
    lacking = (product - (total - of_term)) + (c - of_term)
    bits = total.view(np.int64)
    step = np.where((lacking < 0) == (total < 0), 1, -1)
    odd = np.where((lacking != 0) & (bits % 2 == 0), bits + step, bits)
    result: np.ndarray = odd.view(np.float64).astype(np.float32)
    return result


def chunk_of(neurons: int) -> int:
    """The neurons of a chunk of a layer with few inputs."""
    best, least = 0, 0
    for chunk in CHUNKS:
        padded = -(-neurons // chunk) * chunk
        if not best or padded + padded // 8 < least:
            best, least = chunk, padded
    return best


def sampled_product(current: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """dL/dI `[next]` times weights `[neurons, next]` as for neurons in slots."""
    neurons = len(current)
    chunk = chunk_of(neurons)
    chunks = [
        _of_chunk(current[n : n + chunk], weights[:, n : n + chunk])
        for n in range(0, neurons, chunk)
    ]
    parts = min(PARTS, len(chunks))
    edges = [part * len(chunks) // parts for part in range(parts + 1)]
    return _added([_added(chunks[one:two]) for one, two in zip(edges, edges[1:])])


def dense_product(current: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """dL/dI `[next]` times weights `[neurons, next]` as for all neurons."""
    total = np.zeros(len(weights), np.float32)
    for one, column in zip(current, weights.T):
        total = fused(np.full_like(column, one), column, total)
    return total


def _of_chunk(current: np.ndarray, weights: np.ndarray) -> np.ndarray:
    padding = -len(current) % LANES
    current = np.pad(current, (0, padding), "constant").reshape(-1, LANES)
    weights = np.pad(weights, ((0, 0), (0, padding)), "constant")
    rows = weights.reshape(len(weights), -1, LANES)
    lanes = current[0] * rows[:, 0]
    for j in range(1, len(current)):
        lanes = fused(np.broadcast_to(current[j], lanes.shape), rows[:, j], lanes)
    while lanes.shape[1] > 1:
        half = lanes.shape[1] // 2
        lanes = lanes[:, :half] + lanes[:, half:]
    return lanes[:, 0]


def _added(sums: list) -> np.ndarray:
    total = sums[0]
    for one in sums[1:]:
        total = total + one
    return total
