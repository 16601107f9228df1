"""Random spikes without replacement, the same on every device."""

from __future__ import annotations

from typing import Optional

import numpy as np

from ipulse_ops.philox import RANDOM_SPIKES, below, key_of, philox4x32


def random_spikes(
    seed: int, counts: np.ndarray, neurons: int, slots: Optional[int] = None
) -> np.ndarray:
    """Ids int32 `[time, batch, slots]`, ascending, 0 behind the counts: of each step and sample
    `counts` different neurons, every such choice as likely as any other.

    counts: int `[time, batch]`, how many of `neurons` spike.
    slots: None takes the largest count, and at least one.

    Selection sampling (Knuth's algorithm S), a pass over the neurons in ascending order: neuron n
    spikes if fewer than `counts` do so far and

        high word of (word(n) * (neurons - n)) < counts - those so far

    word(n) is word `n % 4` of philox4x32 at the counter (step, n // 4, sample, RANDOM_SPIKES)
    with the seed's low and high word as key. Integer arithmetic only; samples and steps do not
    depend on each other.

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
