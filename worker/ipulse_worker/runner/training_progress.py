"""Reports the progress of a training to the agent."""

from __future__ import annotations

from typing import Dict

from ipulse_core.events import MetricEvent
from ipulse_worker.runner.clock import Clock
from ipulse_worker.runner.event_writer import METRIC_SECONDS, EventWriter, Throttle
from ipulse_worker.runner.training.batch_schedule import BatchSchedule


class TrainingProgress:
    """Writes metric events: after the first step, a few per second, and after every epoch."""

    def __init__(
        self, events: EventWriter, schedule: BatchSchedule, clock: Clock, step: int
    ) -> None:
        """Start at `step`, the number of training steps of earlier attempts."""
        self._events = events
        self._schedule = schedule
        self._clock = clock
        self._throttle = Throttle(METRIC_SECONDS)
        self._first_step = step
        self._began = clock.now()
        self._samples = 0

    def add_samples(self, samples: int) -> None:
        """Count the samples of a step."""
        self._samples += samples

    def is_due(self) -> bool:
        """Return whether a metric event is due, and count it as written if so."""
        return self._throttle.allows()

    def report(self, step: int, values: Dict[str, float]) -> None:
        """Write a metric event after `step` training steps."""
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
        """Write an info line to the log."""
        self._events.log(message)

    def warn(self, message: str) -> None:
        """Write a warning to the log."""
        self._events.log(message, level="warning")
