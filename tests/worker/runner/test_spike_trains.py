from __future__ import annotations

import numpy as np
import pytest

from ops.spikes import dense_to_sparse
from worker.runner.spike_trains import spike_trains

SEED = 20251


class TestBatch:
    def test_equals_the_dense_spikes_made_sparse(self) -> None:
        """Three spikes of one sample and step, empty samples and repeated indices included."""
        random = np.random.RandomState(SEED)
        dense = random.rand(7, 11, 5) < 0.2  # [time, sample, channel]
        dense[:, 3] = False
        dense[2, 4] = [True, True, False, True, False]
        step, sample, channel = np.nonzero(dense)
        shuffled = random.permutation(len(step))
        trains = spike_trains(
            sample[shuffled], step[shuffled], channel[shuffled], samples=11, steps=7, channels=5
        )
        indices = np.array([4, 3, 10, 0, 4])
        ids, counts = trains.batch(indices)
        expected_ids, expected_counts = dense_to_sparse(dense[:, indices], capacity=trains.slots)
        np.testing.assert_array_equal(ids, expected_ids, err_msg=f"seed {SEED}")
        np.testing.assert_array_equal(counts, expected_counts)
        assert (ids.dtype, counts.dtype) == (np.int32, np.int32)
        assert trains.slots == dense.sum(axis=2).max()

    def test_of_silence_has_one_empty_slot(self) -> None:
        nothing = np.zeros(0, dtype=np.int64)
        trains = spike_trains(nothing, nothing, nothing, samples=2, steps=3, channels=4)
        ids, counts = trains.batch(np.array([1, 0]))
        assert ids.shape == (3, 2, 1)
        assert not counts.any()


class TestSpikeTrains:
    @pytest.mark.parametrize("place", ["sample", "step", "channel"])
    def test_refuses_a_spike_outside(self, place: str) -> None:
        spike = {name: np.array([0]) for name in ("sample", "step", "channel")}
        spike[place] = np.array([4])
        with pytest.raises(ValueError, match=f"every {place} must be 0 to 3"):
            spike_trains(samples=4, steps=4, channels=4, **spike)
