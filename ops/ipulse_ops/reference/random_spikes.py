"""Random spikes without replacement, equal on every device."""

from __future__ import annotations

from typing import Optional

import numpy as np

from ipulse_ops.philox import RANDOM_SPIKES, below, key_of, philox4x32


def random_spikes(
    seed: int, counts: np.ndarray, neurons: int, slots: Optional[int] = None
) -> np.ndarray:
    """Draw `counts` different neurons per step and sample: ids int32 `[time, batch, slots]`.

    The ids ascend and are followed by zeros. All choices are equally likely.

    counts: int `[time, batch]`, how many of `neurons` spike.
    slots: number of slots; None uses the largest count, at least 1.

    The method is selection sampling (Knuth's algorithm S), a pass over the neurons in ascending
    order. Neuron n spikes if

        high word of (word(n) * (neurons - n)) < counts - number of spikes so far

    where word(n) is word `n % 4` of philox4x32 at the counter (step, n // 4, sample, RANDOM_SPIKES)
    with the seed's low and high word as key. The arithmetic is in integers; samples and steps are
    independent.

    Raises ValueError if a count is not 0 to `neurons`, or `slots` is smaller than a count.
    """
    counts = np.asarray(counts)
    if counts.ndim != 2 or not np.issubdtype(counts.dtype, np.integer):
        raise ValueError(
            f"counts must be integers [time, batch]; got {counts.dtype} of shape {counts.shape}"
        )
    if np.any((counts < 0) | (counts > neurons)):
        t, b = np.argwhere((counts < 0) | (counts > neurons))[0]
        raise ValueError(f"counts[{t}, {b}] is {counts[t, b]}; it must be 0 to {neurons}")
    largest = int(counts.max(initial=0))
    if slots is None:
        slots = max(largest, 1)
    if slots < max(largest, 1):
        raise ValueError(f"slots must be at least {max(largest, 1)}; got {slots}")
    key = key_of(seed)
    step, sample = np.ogrid[: counts.shape[0], : counts.shape[1]]
    ids = np.zeros((*counts.shape, slots), dtype=np.int32)
    found = np.zeros(counts.shape, dtype=np.int64)
    for n in range(neurons):
        if n % 4 == 0:
            words = philox4x32((step, n // 4, sample, RANDOM_SPIKES), key)
        t, b = np.nonzero(below(words[..., n % 4], neurons - n) < counts - found)
        ids[t, b, found[t, b]] = n
        found[t, b] += 1
    return ids
