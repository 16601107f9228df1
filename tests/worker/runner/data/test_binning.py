from __future__ import annotations

from typing import Dict, List, Tuple

import numpy as np
import pytest

from ipulse_ops.reference.spikes import dense_to_sparse
from ipulse_worker.runner.data.binning import PLACES_AT_ONCE, Binning
from ipulse_worker.runner.data.dataset import DataInvalid
from ipulse_worker.runner.randomness import Purpose, stream

SEED = 20251
Events = Tuple[np.ndarray, np.ndarray, np.ndarray]


def events_of(count: int, samples: int, steps: int, channels: int) -> Events:
    random = np.random.RandomState(SEED)
    return (
        random.randint(samples, size=count),
        random.randint(-1, steps + 1, size=count),
        random.randint(channels, size=count),
    )


@pytest.mark.old_python
class TestBatch:
    def test_equals_the_dense_spikes_made_sparse(self) -> None:
        """Three spikes of one sample and step, empty samples and repeated indices included."""
        random = np.random.RandomState(SEED)
        dense = random.rand(7, 11, 5) < 0.2  # [time, sample, channel]
        dense[:, 3] = False
        dense[2, 4] = [True, True, False, True, False]
        step, sample, channel = np.nonzero(dense)
        shuffled = random.permutation(len(step))
        binning = Binning(steps=7, channels=5)
        binning.add(sample[shuffled], step[shuffled], channel[shuffled], samples=11)
        trains = binning.trains()
        indices = np.array([4, 3, 10, 0, 4])
        ids, counts = trains.batch(indices)
        expected_ids, expected_counts = dense_to_sparse(dense[:, indices], capacity=trains.slots)
        np.testing.assert_array_equal(ids, expected_ids, err_msg=f"seed {SEED}")
        np.testing.assert_array_equal(counts, expected_counts)
        assert (ids.dtype, counts.dtype) == (np.uint16, np.int32)
        assert trains.slots == dense.sum(axis=2).max()

    def test_of_silence_has_one_empty_slot(self) -> None:
        nothing = np.zeros(0, dtype=np.int64)
        binning = Binning(steps=3, channels=4)
        binning.add(nothing, nothing, nothing, samples=2)
        ids, counts = binning.trains().batch(np.array([1, 0]))
        assert ids.shape == (3, 2, 1)
        assert not counts.any()

    @pytest.mark.parametrize(("channels", "width"), [(65_536, 2), (65_537, 4)])
    def test_ids_take_two_bytes_where_they_fit(self, channels: int, width: int) -> None:
        binning = Binning(steps=4, channels=channels)
        last = np.array([channels - 1])
        binning.add(np.array([0]), np.array([3]), last, samples=1)
        trains = binning.trains()
        assert trains.spike_channels.itemsize == width
        ids, _ = trains.batch(np.array([0]))
        assert ids.itemsize == width
        assert ids[3, 0, 0] == channels - 1

    def test_of_more_places_than_four_bytes_count(self) -> None:
        """Sample 2's last step and channel is place 2,999,999,999 of its chunk."""
        binning = Binning(steps=10_000, channels=100_000)
        last = (np.array([2, 0, 2]), np.array([9_999, 0, 9_999]), np.array([99_999, 7, 99_999]))
        binning.add(*last, samples=3)
        ids, counts = binning.trains().batch(np.array([2, 0]))
        assert (ids[9_999, 0, 0], ids[0, 1, 0], counts.sum()) == (99_999, 7, 2)
        assert (binning.counts.kept, binning.counts.repeated) == (2, 1)


class TestCounts:
    def test_every_event_is_kept_or_counted(self) -> None:
        """Against sets, event by event."""
        sample, step, channel = events_of(4000, samples=9, steps=6, channels=20)
        binning = Binning(steps=6, channels=20, capacity=12, seed=3)
        binning.add(sample, step, channel, samples=9)
        inside = [
            event
            for event in zip(sample.tolist(), step.tolist(), channel.tolist())
            if 0 <= event[1] < 6
        ]
        places = {(s, t): 0 for s, t, _ in inside}
        for s, t, _ in set(inside):
            places[s, t] += 1
        counts = binning.counts
        assert counts.read == 4000
        assert counts.outside == 4000 - len(inside)
        assert counts.repeated == len(inside) - len(set(inside))
        assert counts.over_capacity == sum(max(0, size - 12) for size in places.values()) > 0
        assert counts.kept == len(set(inside)) - counts.over_capacity
        ids, filled = binning.trains().batch(np.arange(9))
        assert filled.sum() == counts.kept
        assert ids.shape[2] == 12

    def test_text_has_all_counts(self) -> None:
        binning = Binning(steps=2, channels=3, capacity=1)
        zeros = np.zeros(5, dtype=np.int64)
        binning.add(zeros, np.array([0, 0, 0, 1, 9]), np.array([0, 0, 1, 2, 2]), samples=1)
        assert str(binning.counts) == (
            "2 input spikes from 5 events, 1 repeated in a step and channel, 1 outside the time "
            "steps, 1 over the input's capacity"
        )


class TestEventCounts:
    def test_each_event_of_a_step_and_channel_is_a_spike(self) -> None:
        sample, step, channel = events_of(4000, samples=9, steps=6, channels=20)
        binning = Binning(steps=6, channels=20, counts_events=True)
        binning.add(sample, step, channel, samples=9)
        inside = (step >= 0) & (step < 6)
        ids, filled = binning.trains().batch(np.arange(9))
        found = np.zeros((9, 6, 20), np.int64)
        at, number, slot = np.nonzero(np.arange(ids.shape[2]) < filled[:, :, None])
        np.add.at(found, (number, at, ids[at, number, slot]), 1)
        expected = np.zeros_like(found)
        np.add.at(expected, (sample[inside], step[inside], channel[inside]), 1)
        assert expected.max() > 5
        np.testing.assert_array_equal(found, expected)
        assert (binning.counts.kept, binning.counts.repeated) == (inside.sum(), 0)

    def test_more_than_sixteen_bits_are_refused_with_their_place(self) -> None:
        binning = Binning(steps=3, channels=4, counts_events=True)
        none = np.zeros(0, np.int64)
        binning.add(none, none, none, samples=5)
        places = [np.full(65_536, number) for number in (1, 2, 3)]
        with pytest.raises(DataInvalid, match="sample 6 has 65,536 events in channel 3 at step 2"):
            binning.add(*places, samples=2)
        binning.add(*(place[1:] for place in places), samples=2)
        assert binning.trains().slots == 65_535


class TestCapacity:
    @pytest.mark.old_python
    def test_keeps_a_random_choice_that_does_not_depend_on_the_chunks(self) -> None:
        sample, step, channel = events_of(3000, samples=8, steps=5, channels=50)
        whole = Binning(steps=5, channels=50, capacity=4, seed=1)
        whole.add(sample, step, channel, samples=8)
        pieces = Binning(steps=5, channels=50, capacity=4, seed=1)
        for first, end in ((0, 3), (3, 4), (4, 8)):
            chosen = (sample >= first) & (sample < end)
            pieces.add(sample[chosen] - first, step[chosen], channel[chosen], samples=end - first)
        everyone = np.arange(8)
        for one, other in zip(whole.trains().batch(everyone), pieces.trains().batch(everyone)):
            np.testing.assert_array_equal(one, other, err_msg=f"seed {SEED}")
        assert whole.counts == pieces.counts

    def test_keeps_those_of_the_sample_s_lowest_random_numbers(self) -> None:
        """More crowded steps than are sorted at once, among some that are not."""
        steps, capacity = PLACES_AT_ONCE + 300, 3
        sample, step, channel = events_of(30_000, samples=2, steps=steps, channels=20)
        binning = Binning(steps=steps, channels=20, capacity=capacity, seed=5)
        binning.add(sample, step, channel, samples=2)
        ids, counts = binning.trains().batch(np.arange(2))
        crowded = 0
        for number in range(2):
            inside = (sample == number) & (step >= 0) & (step < steps)
            spikes = sorted(set(zip(step[inside].tolist(), channel[inside].tolist())))
            draws = stream(Purpose.INPUT_CAPACITY, 5, number).random_sample(len(spikes))
            by_step: Dict[int, List[Tuple[float, int]]] = {at: [] for at in range(steps)}
            for (at, spike), draw in zip(spikes, draws):
                by_step[at].append((draw, spike))
            crowded += sum(len(drawn) > capacity for drawn in by_step.values())
            for at, drawn in by_step.items():
                kept = sorted(spike for _, spike in sorted(drawn)[:capacity])
                assert ids[at, number, : counts[at, number]].tolist() == kept
        assert PLACES_AT_ONCE < crowded < 2 * steps

    def test_does_not_favour_low_channels(self) -> None:
        """Of 40 channels 10 are kept, 500 times: each about 125 times, never 60 off."""
        step, channel = np.divmod(np.arange(500 * 40), 40)
        binning = Binning(steps=500, channels=40, capacity=10)
        binning.add(np.zeros(len(step), dtype=np.int64), step, channel, samples=1)
        kept = np.bincount(binning.trains().spike_channels, minlength=40)
        assert np.abs(kept - 125).max() < 60

    def test_leaves_steps_alone_that_fit(self) -> None:
        binning = Binning(steps=2, channels=9, capacity=3)
        step = np.array([0, 0, 0, 1, 1, 1, 1])
        binning.add(np.zeros(7, np.int64), step, np.arange(7), samples=1)
        ids, counts = binning.trains().batch(np.array([0]))
        assert ids[0, 0].tolist() == [0, 1, 2]
        assert counts[:, 0].tolist() == [3, 3]


@pytest.mark.parametrize("place", ["sample", "channel"])
def test_refuses_a_spike_that_cannot_be(place: str) -> None:
    spike = {name: np.array([0]) for name in ("sample", "step", "channel")}
    spike[place] = np.array([4])
    with pytest.raises(ValueError, match=f"every {place} must be 0 to 3"):
        Binning(steps=4, channels=4).add(samples=4, **spike)
