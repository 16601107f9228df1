"""How a training goes, told to the agent as it goes."""

from __future__ import annotations

from typing import Dict

from ipulse_core.events import MetricEvent
from ipulse_worker.runner.clock import Clock
from ipulse_worker.runner.event_writer import METRIC_SECONDS, EventWriter, Throttle
from ipulse_worker.runner.training.batch_schedule import BatchSchedule


class TrainingProgress:
    """Metric events: after the first step, then some each second, and after every epoch."""

    def __init__(
        self, events: EventWriter, schedule: BatchSchedule, clock: Clock, step: int
    ) -> None:
        """`step`: training steps that were done before this attempt."""
        self._events = events
        self._schedule = schedule
        self._clock = clock
        self._throttle = Throttle(METRIC_SECONDS)
        self._first_step = step
        self._began = clock.now()
        self._samples = 0

    def add_samples(self, samples: int) -> None:
        """Counts the samples of a step."""
        self._samples += samples

    def is_due(self) -> bool:
        """Whether a step should be told; asking counts as telling."""
        return self._throttle.allows()

    def report(self, step: int, values: Dict[str, float]) -> None:
        """`step`: training steps done."""
        elapsed = self._clock.now() - self._began
        done, left = step - self._first_step, self._schedule.steps - step
        self._events.write(
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
        self._events.log(message)

    def warn(self, message: str) -> None:
        """Something to beware of, for the log."""
        self._events.log(message, level="warning")
