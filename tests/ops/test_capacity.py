"""How a capacity grows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ipulse_ops.capacity import next_capacity


def grown(capacity: int, neurons: int, spikes: int, in_use: int, dropped: int) -> int:
    """Counts of ten equal steps of four samples."""
    counts = np.tile(np.array([spikes, in_use]), (10, 4, 1))
    return next_capacity(capacity, neurons, counts, np.full((10, 4), dropped))


class TestNextCapacity:
    def test_stays_while_nothing_is_dropped(self) -> None:
        assert grown(8, 100, spikes=8, in_use=8, dropped=0) == 8
        assert grown(50, 100, spikes=1, in_use=2, dropped=0) == 50

    def test_leaves_four_standard_deviations_of_room(self) -> None:
        assert grown(9, 100, spikes=9, in_use=9, dropped=7) == 16 + 4 * 4

    def test_counts_gradient_only_neurons(self) -> None:
        counts = np.array([[[2, 4], [4, 4]]])  # a mean of 4 and 5 dropped with them: 4.5
        assert next_capacity(4, 100, counts, np.array([[0, 1]])) == 13  # 4.5 + 4 * 2.12 = 12.98

    def test_holds_the_largest_volley(self) -> None:
        counts = np.zeros((10, 10, 2), int)
        counts[3, 3] = 4
        dropped = np.zeros((10, 10), int)
        dropped[3, 3] = 56
        assert next_capacity(4, 100, counts, dropped) == 60

    def test_grows_by_an_eighth_at_least(self) -> None:
        counts, dropped = np.full((50, 1, 2), 1), np.zeros((50, 1), int)
        counts[7], dropped[7] = 80, 1
        assert next_capacity(80, 1000, counts, dropped) == 90

    def test_is_at_most_a_slot_per_neuron(self) -> None:
        assert grown(9, 20, spikes=9, in_use=9, dropped=7) == 20

    @given(st.integers(1, 50), st.integers(1, 50), st.integers(0, 2**32 - 1))
    def test_grows_whenever_spikes_were_dropped(self, slots: int, more: int, seed: int) -> None:
        rng = np.random.Generator(np.random.PCG64(seed))
        dropped = rng.integers(0, more + 1, (3, 2))
        spikes = np.where(dropped > 0, slots, rng.integers(0, slots + 1, (3, 2)))
        counts = np.stack([spikes, np.maximum(spikes, slots // 2)], axis=2)
        capacity = next_capacity(slots, slots + more, counts, dropped)
        assert slots <= capacity <= slots + more
        assert (capacity > slots) == bool(dropped.any())

    @pytest.mark.parametrize("capacity", [0, 11])
    def test_refuses_an_impossible_capacity(self, capacity: int) -> None:
        with pytest.raises(ValueError, match=f"capacity must be 1 to 10; got {capacity}"):
            grown(capacity, 10, 0, 0, 0)
