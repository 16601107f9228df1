"""Which senders a layer keeps in a training sample, and which spikes it then receives."""

from __future__ import annotations

import numpy as np
import pytest

from ipulse_ops.reference.dropout import kept_senders, received_spikes
from tests.ops.philox_loops import philox


def test_masks_are_those_of_the_counters() -> None:
    seed, layer = 2**40 + 7, 3
    kept = kept_senders(seed, layer, samples=5, senders=9, rate=0.3)
    for sample, sender in np.ndindex(5, 9):
        word = philox(seed, (layer, sender // 4, sample, 2))[sender % 4]
        assert kept[sample, sender] == (word >= round(0.3 * 2**32))


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.5, 0.9])
def test_the_rate_is_the_share_of_dropped_senders(rate: float) -> None:
    kept = kept_senders(1, 0, samples=100, senders=400, rate=rate)
    assert abs(np.mean(~kept) - rate) < 0.01  # 4 standard deviations


def test_seeds_layers_and_samples_have_their_own_masks() -> None:
    masks = [kept_senders(seed, layer, 4, 64, 0.5) for seed in (1, 2) for layer in (0, 1)]
    rows = {row.tobytes() for mask in masks for row in mask}
    assert len(rows) == 16


def test_a_smaller_batch_has_the_same_masks() -> None:
    whole = kept_senders(6, 1, 10, 30, 0.5)
    np.testing.assert_array_equal(kept_senders(6, 1, 3, 30, 0.5), whole[:3])


def test_spikes_of_kept_senders_stay_in_their_order_in_all_steps() -> None:
    ids = np.array([[[2, 0, 1, 2], [0, 1, 3, 0]], [[1, 1, 3, 2], [3, 2, 1, 0]]], np.int32)
    counts = np.array([[4, 3], [2, 4]], np.int32)
    kept = np.array([[False, True, True, True], [True, False, True, False]])
    found, left = received_spikes(ids, counts, kept)
    assert left.tolist() == [[3, 1], [2, 2]]
    listed = [found[t, b, : left[t, b]].tolist() for t, b in np.ndindex(2, 2)]
    assert listed == [[2, 1, 2], [0], [1, 1], [2, 0]]
