"""Random spikes: the specified algorithm, bit for bit, and what it is for."""

from __future__ import annotations

from itertools import combinations
from typing import Any, List

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ipulse_ops.reference.random_spikes import random_spikes
from ipulse_ops.reference.spikes import check_spikes
from tests.ops.philox_loops import philox


def chosen(seed: int, step: int, sample: int, count: int, neurons: int) -> List[int]:
    """The algorithm as its docstring says, in plain Python integers."""
    ids: List[int] = []
    for n in range(neurons):
        word = philox(seed, (step, n // 4, sample, 1))[n % 4]
        if (word * (neurons - n)) >> 32 < count - len(ids):
            ids.append(n)
    return ids


@st.composite
def choices(draw: Any) -> Any:
    """Seed, counts, neurons."""
    neurons = draw(st.integers(1, 30))
    shape = (draw(st.integers(0, 3)), draw(st.integers(0, 3)))
    rng = np.random.Generator(np.random.PCG64(draw(st.integers(0, 999))))
    return draw(st.integers(0, 2**64 - 1)), rng.integers(0, neurons + 1, shape), neurons


class TestRandomSpikes:
    @given(choices())
    @settings(deadline=None)
    def test_match_the_algorithm(self, choice: Any) -> None:
        seed, counts, neurons = choice
        ids = random_spikes(seed, counts, neurons)
        check_spikes(ids, counts, neurons)
        assert ids.dtype == np.int32
        for t, b in np.ndindex(*counts.shape):
            count = counts[t, b]
            assert ids[t, b, :count].tolist() == chosen(seed, t, b, count, neurons)
            assert not ids[t, b, count:].any()

    @given(choices())
    @settings(deadline=None)
    def test_are_exactly_as_many_ascending_and_different(self, choice: Any) -> None:
        seed, counts, neurons = choice
        ids = random_spikes(seed, counts, neurons, slots=neurons)
        assert ids.shape == (*counts.shape, neurons)
        for t, b in np.ndindex(*counts.shape):
            assert np.all(np.diff(ids[t, b, : counts[t, b]]) > 0)

    def test_all_and_none(self) -> None:
        ids = random_spikes(3, np.array([[5, 0]]), 5)
        assert ids.tolist() == [[[0, 1, 2, 3, 4], [0, 0, 0, 0, 0]]]

    @pytest.mark.parametrize(("neurons", "count"), [(5, 2), (6, 3), (9, 1), (7, 6)])
    def test_every_choice_is_as_likely(self, neurons: int, count: int) -> None:
        draws = 20_000
        ids = random_spikes(11, np.full((draws, 1), count), neurons)[:, 0]
        subsets = list(combinations(range(neurons), count))
        times = dict.fromkeys(subsets, 0)
        for row in map(tuple, ids.tolist()):
            times[row] += 1
        expected = draws / len(subsets)
        chi_square = sum((n - expected) ** 2 for n in times.values()) / expected
        freedom = len(subsets) - 1
        assert abs(chi_square - freedom) < 4 * np.sqrt(2 * freedom)

    def test_depend_on_seed_step_and_sample_only(self) -> None:
        counts = np.full((4, 3), 8)
        ids = random_spikes(1, counts, 40)
        assert np.array_equal(random_spikes(1, counts[:2, :2], 40), ids[:2, :2])
        assert not np.array_equal(random_spikes(2, counts, 40), ids)
        assert len({tuple(row) for row in ids.reshape(-1, 8).tolist()}) == 12


class TestRefusals:
    @pytest.mark.parametrize(
        ("counts", "slots", "message"),
        [
            ([[1, 6]], None, r"counts\[0, 1\] is 6; it must be 0 to 5"),
            ([[-1]], None, r"counts\[0, 0\] is -1; it must be 0 to 5"),
            ([[3]], 2, "slots must be at least 3; got 2"),
            ([[0]], 0, "slots must be at least 1; got 0"),
            ([[1.5]], None, "counts must be integers"),
            ([1], None, r"integers \[time, batch\]; got int64 of shape \(1,\)"),
        ],
    )
    def test_impossible_counts(self, counts: Any, slots: Any, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            random_spikes(0, np.array(counts), 5, slots)
