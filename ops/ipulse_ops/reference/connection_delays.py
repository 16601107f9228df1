"""The reference of delays of single connections, as one matrix that reads each spike several times.

With a delay d[j, i] of the synapse from sender j to neuron i, a whole number of steps, or d[j] of
the sender, k + f with a whole k and 0 <= f <= 1, spikes x give the current

    I[t, i] = sum_j W[j, i] x[t - d[j, i], j]                                     of synapses
    I[t, i] = sum_j W[j, i] ((1 - f[j]) x[t - k[j], j] + f[j] x[t - k[j] - 1, j])    of senders

where k is the whole part of d, and `longest - 1` where d is `longest`. Delays of senders are
trained; interpolation between two steps follows Hammouamri et al., 2023, arXiv:2306.17670.

Both are a product of a taller matrix with the spikes of "taps": tap m of sender j is a sender
m N_in + j of its own, which repeats the sender's spikes `arrivals[m, j]` steps later.

    of synapses    W'[m N_in + j, i] = W[j, i] where d[j, i] = m, else 0      arrivals[m, j] = m
    of senders     W'[j] = (1 - f[j]) W[j]     W'[N_in + j] = f[j] W[j]       k[j] and k[j] + 1

The gradient of d is that of f: the sum over i of W[j, i] (dW'[N_in + j, i] - dW'[j, i]).
"""

from __future__ import annotations

from typing import List, NamedTuple, Tuple

import numpy as np

NEVER = -1  # the arrival of a tap that no synapse has


class Taps(NamedTuple):
    """The taller matrix, and when the spikes of its senders arrive."""

    weights: np.ndarray  # float64 [taps * N_in, neurons]
    arrivals: np.ndarray  # int32 [taps, N_in], steps; NEVER for none


def whole_and_rest(delays: np.ndarray, longest: int) -> Tuple[np.ndarray, np.ndarray]:
    """Return k and f of delays, which are clipped to 0 to `longest`."""
    clipped = np.clip(delays, 0, longest)
    whole = np.minimum(np.floor(clipped), longest - 1)
    return whole.astype(np.int32), clipped - whole


def taps_of(weights: np.ndarray, delays: np.ndarray, longest: int) -> Taps:
    """Return the taps of weights `[N_in, neurons]`.

    delays: `[N_in, neurons]` of synapses, or `[N_in]` of senders.
    """
    if delays.ndim == 1:
        whole, rest = whole_and_rest(delays, longest)
        taller = np.concatenate(
            [(1 - rest)[:, np.newaxis] * weights, rest[:, np.newaxis] * weights]
        )
        return Taps(taller, np.stack([whole, whole + 1]))
    tap = np.arange(longest + 1, dtype=np.int32)[:, np.newaxis, np.newaxis]
    chosen = np.clip(delays, 0, longest).astype(np.int32) == tap
    arrivals = np.where(chosen.any(axis=2), tap[..., 0], NEVER).astype(np.int32)
    return Taps((chosen * weights).reshape(-1, weights.shape[1]), arrivals)


def taps_gradient(
    weights: np.ndarray, delays: np.ndarray, longest: int, grad_taps: np.ndarray
) -> Tuple[np.ndarray, np.ndarray]:
    """Return a loss's gradients of the weights and the delays, which are 0 for synapses.

    grad_taps: `[taps * N_in, neurons]`, the loss's derivative with respect to the taller matrix.
    """
    by_tap = grad_taps.reshape(-1, *weights.shape)
    if delays.ndim == 1:
        _, rest = whole_and_rest(delays, longest)
        rest = rest[:, np.newaxis]
        by_delay = (weights * (by_tap[1] - by_tap[0])).sum(axis=1)
        return (1 - rest) * by_tap[0] + rest * by_tap[1], by_delay
    index = np.clip(delays, 0, longest).astype(np.int64)[np.newaxis]
    return np.take_along_axis(by_tap, index, axis=0)[0], np.zeros(delays.shape)


def delayed_spikes(
    ids: np.ndarray, counts: np.ndarray, arrivals: np.ndarray
) -> Tuple[np.ndarray, np.ndarray]:
    """Return ids `[time, batch, slots]` and counts `[time, batch]` of the spikes of all taps.

    ids, counts: the spikes of the senders. At a step those that were sent first come first, then
    the order is that of their slots, then that of the taps.
    arrivals: of `Taps`.
    """
    senders, (steps, batch) = arrivals.shape[1], counts.shape
    lists: List[List[List[int]]] = [[[] for _ in range(batch)] for _ in range(steps)]
    for t in range(steps):
        for b in range(batch):
            for sender in ids[t, b, : counts[t, b]]:
                for tap, delay in enumerate(arrivals[:, sender]):
                    if delay != NEVER and t + delay < steps:
                        lists[t + delay][b].append(tap * senders + sender)
    found_counts = np.array([[len(row) for row in rows] for rows in lists], np.int32)
    found_counts = found_counts.reshape(steps, batch)
    found = np.zeros((steps, batch, max(1, int(found_counts.max(initial=0)))), np.int32)
    for t, rows in enumerate(lists):
        for b, row in enumerate(rows):
            found[t, b, : len(row)] = row
    return found, found_counts


def by_senders(by_taps: np.ndarray, arrivals: np.ndarray) -> np.ndarray:
    """Return a gradient by the senders' spikes `[time, batch, N_in]`.

    by_taps: `[time, batch, taps * N_in]`, the loss's derivative with respect to the taps' spikes.
    """
    taps, senders = arrivals.shape
    steps, batch = by_taps.shape[:2]
    gradient = np.zeros((steps, batch, senders))
    for tap in range(taps):
        for sender, delay in enumerate(arrivals[tap]):
            if delay != NEVER and delay < steps:
                column = by_taps[delay:, :, tap * senders + sender]
                gradient[: steps - delay, :, sender] += column
    return gradient
