from __future__ import annotations

import numpy as np

from ipulse_worker.runner.training.batch_schedule import BatchSchedule

SAMPLES = np.array([3, 5, 8, 13, 21, 34, 55])


def make(seed: int = 1, epochs: int = 2) -> BatchSchedule:
    return BatchSchedule(SAMPLES, batch_size=3, epochs=epochs, seed=seed)


class TestSchedule:
    def test_visits_every_sample_once_an_epoch(self) -> None:
        schedule = make()
        assert (schedule.steps_per_epoch, schedule.steps) == (3, 6)
        for first in (0, 3):
            batches = [schedule.batch(step) for step in range(first, first + 3)]
            assert [len(batch) for batch in batches] == [3, 3, 1]
            np.testing.assert_array_equal(np.sort(np.concatenate(batches)), SAMPLES)

    def test_order_differs_by_epoch_and_seed(self) -> None:
        def order(schedule: BatchSchedule, epoch: int) -> list:
            return [n for step in range(3) for n in schedule.batch(3 * epoch + step)]

        assert order(make(), 0) != order(make(), 1)
        assert order(make(seed=1), 0) != order(make(seed=2), 0)

    def test_can_begin_anywhere(self) -> None:
        """A resumed training relies on batches that do not depend on earlier ones."""
        whole = make()
        expected = [whole.batch(step) for step in range(6)]
        np.testing.assert_array_equal(make().batch(4), expected[4])
        np.testing.assert_array_equal(whole.batch(1), expected[1])

    def test_knows_where_epochs_end(self) -> None:
        schedule = make()
        assert [schedule.epoch(step) for step in range(6)] == [0, 0, 0, 1, 1, 1]
        assert [step for step in range(6) if schedule.ends_epoch(step)] == [2, 5]
