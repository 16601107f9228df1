"""Dropout of spikes at the layer that receives them: which of its senders it ignores.

A layer with dropout p receives the spikes of a sender in a training sample with probability 1 - p,
in all time steps or in none, and its input weights are multiplied by 1 / (1 - p), which keeps the
mean of its input current. Without training it receives every spike. The sender itself, its reset,
its recurrence and its counts do not change. The method is that of Srivastava et al., 2014,
https://jmlr.org/papers/v15/srivastava14a.html; one mask for a whole sequence follows Gal and
Ghahramani, 2016, arXiv:1512.05287.
"""

from __future__ import annotations

from typing import Tuple

import numpy as np

from ipulse_ops.philox import DROPOUT, key_of, philox4x32
from ipulse_ops.reference.spikes import compacted


def limit_of(rate: float) -> int:
    """Return the number of 0 to 2^32 below which a random word drops a sender."""
    return round(rate * 2**32)


def scale_of(rate: float) -> float:
    """Return the factor of a layer's input weights in training."""
    return 1.0 / (1.0 - rate)


def kept_senders(seed: int, layer: int, samples: int, senders: int, rate: float) -> np.ndarray:
    """Return which senders a layer receives, bool `[samples, senders]`.

    seed: 0 to 2^64 - 1; every training step has another one.
    layer: number of the receiving layer, from 0.
    senders: number of the neurons or input channels that send to it.
    rate: probability of being dropped, at least 0 and less than 1.

    Sender n of a sample is dropped if word `n % 4` of philox4x32 at the counter (layer, n // 4,
    sample, DROPOUT), with the seed's words as key, is below round(rate * 2^32). The choice depends
    on these numbers alone.

    Raises ValueError if the seed is out of range.
    """
    sample, block = np.ogrid[:samples, : -(-senders // 4)]
    words = philox4x32((layer, block, sample, DROPOUT), key_of(seed))
    kept: np.ndarray = words.reshape(samples, -1)[:, :senders] >= limit_of(rate)
    return kept


def received_spikes(
    ids: np.ndarray, counts: np.ndarray, kept: np.ndarray
) -> Tuple[np.ndarray, np.ndarray]:
    """Return ids `[time, batch, slots]` and counts `[time, batch]` of the spikes of kept senders.

    ids, counts: the spikes that were sent; the order of those that stay does not change.
    kept: bool `[batch, senders]`.
    """
    sent = np.arange(ids.shape[2]) < counts[..., np.newaxis]
    sample = np.arange(ids.shape[1])[np.newaxis, :, np.newaxis]
    stays = sent & kept[sample, np.where(sent, ids, 0)]
    return compacted(ids, stays)
