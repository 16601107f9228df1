"""The pooled sites of spikes."""

from __future__ import annotations

from typing import Dict, List, Sequence, Tuple

import numpy as np

from ipulse_ops.reference.spike_matmul import both_counts


def pooled_spikes(
    ids: np.ndarray, counts: np.ndarray, sites: Sequence[int]
) -> Tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return pooled ids and counts as ipulse_ops.sparse.pooled_spikes does, and their origin.

    The origin `[..., slots]` has the pooled slot that each slot of `ids` belongs to, or -1: it is
    the slot whose gradient it receives.

    Raises what ipulse_ops.reference.spike_matmul.spike_matmul raises.
    """
    spikes, filled = both_counts(ids, counts, len(sites))
    lists: Dict[Tuple[int, ...], List[int]] = {}
    origin = np.full(ids.shape, -1)
    numbers = np.zeros((*spikes.shape, 2), np.float32)
    for place in np.ndindex(*spikes.shape):
        listed: List[int] = []
        first: Dict[int, int] = {}  # the slot of each gradient-only site
        for k in range(filled[place]):
            site = sites[ids[place][k]]
            if k == spikes[place]:
                numbers[place][0] = len(listed)
            if site < 0:
                continue
            if k < spikes[place] or site not in first:
                listed.append(site)
                if k >= spikes[place]:
                    first[site] = len(listed) - 1
            origin[place][k] = first.get(site, len(listed) - 1)
        if spikes[place] == filled[place]:
            numbers[place][0] = len(listed)
        numbers[place][1] = len(listed)
        lists[place] = listed
    slots = max(1, int(numbers.max(initial=1)))
    pooled = np.zeros((*spikes.shape, slots), np.float32)
    for place, listed in lists.items():
        pooled[place][: len(listed)] = listed
    return pooled, numbers, origin
