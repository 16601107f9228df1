from __future__ import annotations

import pytest

from ipulse_worker.runner.training.learning_rate import learning_rate
from tests.worker.runner.specs import Adam, RateSchedule, Training


def rates(steps: int, **schedule: object) -> list:
    training = Training(
        optimizer=Adam(learning_rate=0.5),
        schedule=RateSchedule(**schedule),  # type: ignore[arg-type] # the cases below fit
    )
    return [learning_rate(training, step, steps) for step in range(1, steps + 1)]


class TestLearningRate:
    def test_constant_is_the_optimizers(self) -> None:
        assert rates(4) == [0.5] * 4

    def test_warm_up_rises_in_proportion(self) -> None:
        assert rates(5, warmup_steps=4) == [0.125, 0.25, 0.375, 0.5, 0.5]

    def test_cosine_falls_from_the_full_rate_to_its_share(self) -> None:
        assert rates(5, shape="cosine", final_share=0.0) == pytest.approx(
            [0.5, 0.5 * (1 + 0.5**0.5) / 2, 0.25, 0.5 * (1 - 0.5**0.5) / 2, 0.0]
        )
        assert rates(9, shape="cosine", final_share=0.1)[-1] == pytest.approx(0.05)

    def test_cosine_begins_after_the_warm_up(self) -> None:
        computed = rates(6, shape="cosine", warmup_steps=2, final_share=0.0)

        assert computed[:2] == [0.25, 0.5]
        assert computed[3] == pytest.approx(0.25)
        assert computed[5] == pytest.approx(0.0)

    def test_a_single_step_and_a_warm_up_beyond_the_end_are_fine(self) -> None:
        assert rates(1, shape="cosine") == [0.5]
        assert rates(2, shape="cosine", warmup_steps=10) == [0.05, 0.1]
