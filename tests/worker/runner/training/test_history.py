from __future__ import annotations

import numpy as np

from ipulse_core import strict_json
from ipulse_worker.runner.training.batch_schedule import BatchSchedule
from ipulse_worker.runner.training.history import MAX_STEP_LINES, History, logged_every


class TestHistory:
    def test_survives_being_written_and_read(self) -> None:
        history = History()
        history.add("step", 1, 1, {"loss": 0.1 + 0.2})
        history.add("epoch", 1, 1, {"loss": 1 / 3, "test_accuracy": 0.5})
        again = History(history.text())
        assert again.records == history.records
        assert again.text() == history.text()
        assert again.epochs("loss") == [1 / 3]

    def test_is_one_json_object_a_line(self) -> None:
        history = History()
        history.add("epoch", 2, 46, {"loss": 0.25})
        assert [strict_json.loads(line) for line in history.text().splitlines()] == [
            {"scope": "epoch", "epoch": 2, "step": 46, "loss": 0.25}
        ]


class TestLoggedEvery:
    def test_bounds_the_lines_of_a_long_training(self) -> None:
        for epochs in (1, 1999, 2000, 2001, 100_000):
            schedule = BatchSchedule(np.arange(3), batch_size=1, epochs=epochs, seed=0)
            every = logged_every(schedule)
            assert schedule.steps // every <= MAX_STEP_LINES
            assert every == 1 or schedule.steps // (every - 1) > MAX_STEP_LINES
