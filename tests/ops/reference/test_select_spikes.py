"""Choice of the neurons in slots: by hand, by plain sorting, and its gradient."""

from __future__ import annotations

from typing import Any, List, Optional

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ipulse_ops.reference.select_spikes import (
    POLICIES,
    Selection,
    cyclic_offsets,
    may_be_dropped,
    select_spikes,
    select_spikes_gradients,
)
from ipulse_ops.surrogate import SuperSpike
from tests.ops.philox_loops import random_below

# Neurons 1, 3, 5 and 6 are above 1; 2 and 4 above 0.5 only.
U = np.array([0.2, 1.5, 0.7, 1.1, 0.6, 2.0, 1.5])


def choose(
    policy: str, capacity: Optional[int], offset: int = 0, second: Optional[float] = 0.5
) -> List[Any]:
    offsets = np.array(offset) if policy == "cyclic" else None
    actual = select_spikes(U, 1.0, second, capacity, policy, offsets)
    return [actual.spike_ids.tolist(), actual.spike_counts.tolist(), int(actual.dropped)]


class TestPolicies:
    @pytest.mark.parametrize(
        ("policy", "offset", "capacity", "ids", "counts", "dropped"),
        [
            ("index", 0, None, [1, 3, 5, 6, 2, 4, 0], [4, 6], 0),
            ("index", 0, 5, [1, 3, 5, 6, 2], [4, 5], 0),
            ("index", 0, 3, [1, 3, 5], [3, 3], 1),
            ("index", 0, 1, [1], [1, 1], 3),
            ("cyclic", 0, 3, [1, 3, 5], [3, 3], 1),
            ("cyclic", 1, 3, [1, 3, 5], [3, 3], 1),
            ("cyclic", 2, 3, [3, 5, 6], [3, 3], 1),
            ("cyclic", 6, 3, [1, 3, 6], [3, 3], 1),
            ("cyclic", 6, 1, [6], [1, 1], 3),
            ("cyclic", 3, 5, [1, 3, 5, 6, 4], [4, 5], 0),
            ("cyclic", 5, 7, [1, 3, 5, 6, 2, 4, 0], [4, 6], 0),
            ("top", 0, 1, [5], [1, 1], 3),
            ("top", 0, 2, [1, 5], [2, 2], 2),  # neurons 1 and 6 are equal
            ("top", 0, 3, [1, 5, 6], [3, 3], 1),
            ("top", 0, 5, [1, 3, 5, 6, 2], [4, 5], 0),
            ("top", 0, None, [1, 3, 5, 6, 2, 4, 0], [4, 6], 0),
        ],
    )
    def test_by_hand(
        self,
        policy: str,
        offset: int,
        capacity: Optional[int],
        ids: List[int],
        counts: List[int],
        dropped: int,
    ) -> None:
        assert choose(policy, capacity, offset) == [ids, counts, dropped]

    def test_top_fills_up_with_the_neurons_nearest_to_the_threshold(self) -> None:
        u = np.array([0.1, 0.9, 0.3, 2.0])
        assert select_spikes(u, 1.0, None, 2, "top").spike_ids.tolist() == [3, 1]
        assert select_spikes(u, 1.0, None, 3, "top").spike_ids.tolist() == [3, 1, 2]

    def test_thresholds_may_be_each_neurons_own(self) -> None:
        actual = select_spikes(np.array([1.0, 1.0, 1.0]), np.array([0.5, 1.0, 1.5]), None)
        assert actual.spike_ids.tolist() == [0, 1, 2]
        assert actual.spike_counts.tolist() == [1, 3]

    @given(
        st.integers(0, 2**32 - 1),
        st.integers(1, 12),
        st.sampled_from(POLICIES),
        st.booleans(),
        st.data(),
    )
    @settings(max_examples=200)
    def test_equal_plain_sorting(
        self, seed: int, neurons: int, policy: str, gate: bool, data: Any
    ) -> None:
        """With many ties, in any number of axes."""
        rng = np.random.Generator(np.random.PCG64(seed))
        axes = tuple(rng.integers(1, 4, size=rng.integers(0, 3)))
        u = rng.integers(0, 8, (*axes, neurons)) / 4
        second = 0.5 if gate else None
        capacity = data.draw(st.none() | st.integers(1, neurons))
        offsets = rng.integers(0, neurons, axes) if policy == "cyclic" else None
        actual = select_spikes(u, 1.0, second, capacity, policy, offsets)
        slots = neurons if capacity is None else capacity
        for place in np.ndindex(*axes):
            order = list(range(neurons))
            if offsets is not None:
                order = order[offsets[place] :] + order[: offsets[place]]
            if policy == "top":
                order.sort(key=lambda n, v=u[place]: -v[n])
            spiking = [n for n in order if u[place][n] > 1.0]
            others = [n for n in order if u[place][n] <= 1.0 and (not gate or u[place][n] > 0.5)]
            kept = sorted(spiking[:slots])
            more = sorted(others[: slots - len(kept)])
            blank = [0] * (slots - len(kept) - len(more))
            assert actual.spike_ids[place].tolist() == kept + more + blank
            assert actual.spike_counts[place].tolist() == [len(kept), len(kept + more)]
            assert actual.dropped[place] == len(spiking) - len(kept)


class TestCyclicOffsets:
    def test_are_keyed_by_seed_step_layer_and_sample(self) -> None:
        seed = 2**40 + 17
        offsets = cyclic_offsets(seed, layer=3, steps=4, batch=5, neurons=1000)
        for t, b in np.ndindex(4, 5):
            assert offsets[t, b] == random_below(seed, (t, 3, b, 0), 1000)

    def test_reach_every_neuron_evenly(self) -> None:
        offsets = cyclic_offsets(1, 0, steps=100, batch=100, neurons=10)
        times = np.bincount(offsets.ravel(), minlength=10)
        assert times.size == 10
        assert np.all(np.abs(times - 1000) < 4 * 30)

    def test_let_every_spike_through_as_often(self) -> None:
        """Eight spiking neurons for two slots, in another order than by id."""
        u = np.full((500, 20, 8), 2.0)
        offsets = cyclic_offsets(5, 0, 500, 20, 8)
        actual = select_spikes(u, 1.0, None, 2, "cyclic", offsets)
        times = np.bincount(actual.spike_ids.ravel(), minlength=8)
        assert np.all(np.abs(times - 2500) < 200)


class TestMayBeDropped:
    @given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.sampled_from(POLICIES), st.data())
    @settings(max_examples=200)
    def test_names_all_dropped_neurons_and_none_with_a_slot(
        self, seed: int, neurons: int, policy: str, data: Any
    ) -> None:
        rng = np.random.Generator(np.random.PCG64(seed))
        u = rng.integers(0, 8, (3, 2, neurons)) / 4
        capacity = data.draw(st.integers(1, neurons))
        offsets = rng.integers(0, neurons, (3, 2)) if policy == "cyclic" else None
        actual = select_spikes(u, 1.0, 0.5, capacity, policy, offsets)
        unknown = may_be_dropped(actual, neurons, policy, offsets)
        for t, b in np.ndindex(3, 2):
            seen = set(actual.spike_ids[t, b, : actual.spike_counts[t, b, 0]].tolist())
            spiking = set(np.nonzero(u[t, b] > 1.0)[0].tolist())
            named = set(np.nonzero(unknown[t, b])[0].tolist())
            assert spiking - seen <= named
            assert not named & seen
            if actual.spike_counts[t, b, 0] < capacity:
                assert not named

    def test_takes_those_after_the_last_slot_only(self) -> None:
        """A neuron that the policy passed over did not spike."""
        full = Selection(np.array([[2, 4]]), np.array([[2, 2]]), np.array([0]))
        index = may_be_dropped(full, 6, "index")
        assert np.nonzero(index[0])[0].tolist() == [5]
        cyclic = may_be_dropped(full, 6, "cyclic", np.array([4]))  # it looked at 4, 5, 0, 1, 2
        assert np.nonzero(cyclic[0])[0].tolist() == [3]
        top = may_be_dropped(full, 6, "top")
        assert np.nonzero(top[0])[0].tolist() == [0, 1, 3, 5]


class TestGradients:
    def test_reach_membranes_in_filled_slots_by_the_surrogate(self) -> None:
        surrogate = SuperSpike(slope=2.0)
        u = np.stack([U, U + 0.25])[:, None]
        threshold = np.full(7, 1.0)
        selection = select_spikes(u, threshold, 0.5, 5)
        grad_slots = np.arange(1.0, 11.0).reshape(2, 1, 5)
        grad_slots[~(np.arange(5) < selection.spike_counts[..., 1:])] = np.nan
        by_u, by_threshold = select_spikes_gradients(u, threshold, selection, surrogate, grad_slots)
        expected = np.zeros(u.shape)
        for t in range(2):
            for k in range(selection.spike_counts[t, 0, 1]):
                n = selection.spike_ids[t, 0, k]
                phi = 1 / (2 * abs(u[t, 0, n] - 1) + 1) ** 2
                expected[t, 0, n] = phi * grad_slots[t, 0, k]
        np.testing.assert_allclose(by_u, expected, rtol=1e-15)
        np.testing.assert_allclose(by_threshold, -expected.sum(axis=(0, 1)), rtol=1e-15)
        assert np.count_nonzero(by_u) == 10


class TestRefusals:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"capacity": 0}, "capacity must be 1 to 7; got 0"),
            ({"capacity": 8}, "capacity must be 1 to 7; got 8"),
            ({"second_threshold": 1.1}, "second_threshold must not be above threshold"),
            ({"policy": "best"}, "policy must be index, cyclic or top; got best"),
            ({"policy": "cyclic"}, "requires offsets; other policies take none"),
            ({"offsets": np.array(0)}, "requires offsets; other policies take none"),
            (
                {"policy": "cyclic", "offsets": np.zeros(2, int)},
                r"offsets must have shape \(\); got \(2,\)",
            ),
        ],
    )
    def test_what_cannot_be_chosen(self, arguments: Any, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            select_spikes(U, 1.0, **arguments)
