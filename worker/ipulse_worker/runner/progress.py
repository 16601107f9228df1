"""How a training goes, told to the agent as it goes."""

from __future__ import annotations

from typing import Dict

from ipulse_core.events import MetricEvent
from ipulse_worker.runner.clock import Clock
from ipulse_worker.runner.reporter import METRIC_SECONDS, Reporter, Throttle
from ipulse_worker.runner.training.batch_schedule import Schedule


class Progress:
    """Metric events: after the first step, then some each second, and after every epoch."""

    def __init__(self, reporter: Reporter, schedule: Schedule, clock: Clock, step: int) -> None:
        """`step`: training steps that were done before this attempt."""
        self._reporter = reporter
        self._schedule = schedule
        self._clock = clock
        self._throttle = Throttle(METRIC_SECONDS)
        self._first_step = step
        self._began = clock.now()
        self._samples = 0

    def saw(self, samples: int) -> None:
        """Counts the samples of a step."""
        self._samples += samples

    def due(self) -> bool:
        """Whether a step should be told; asking counts as telling."""
        return self._throttle.allows()

    def tell(self, step: int, values: Dict[str, float]) -> None:
        """`step`: training steps done."""
        elapsed = self._clock.now() - self._began
        done, left = step - self._first_step, self._schedule.steps - step
        self._reporter.say(
            MetricEvent(
                epoch=self._schedule.epoch(step - 1) + 1,
                epochs=self._schedule.epochs,
                step=step,
                steps=self._schedule.steps,
                values={**values, "samples_per_second": self._samples / elapsed},
                eta_seconds=elapsed / done * left,
            )
        )

    def note(self, message: str) -> None:
        """Something that happened, for the log."""
        self._reporter.log(message)

    def warn(self, message: str) -> None:
        """Something to beware of, for the log."""
        self._reporter.log(message, level="warning")
