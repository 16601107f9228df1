"""Reports the progress of a training to the agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict

from ipulse_core.events import HeldOut, MetricEvent, Scope
from ipulse_core.spec.kind_fields import field_of
from ipulse_worker.runner.clock import Clock
from ipulse_worker.runner.event_writer import METRIC_SECONDS, EventWriter, Throttle
from ipulse_worker.runner.training.batch_schedule import BatchSchedule

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec


def held_out_samples(spec: ExperimentSpec) -> HeldOut:
    """Return which samples a training is evaluated on."""
    held_out: HeldOut = field_of(spec.data, "judged_on")
    return held_out


class TrainingProgress:
    """Writes metric events: of the first step, of a few steps per second, and of every epoch.

    Their values are those of metrics.jsonl, to the last digit.
    """

    def __init__(
        self,
        events: EventWriter,
        schedule: BatchSchedule,
        clock: Clock,
        step: int,
        held_out: HeldOut = "test",
    ) -> None:
        """Start at `step`, the number of training steps of earlier attempts.

        held_out: which samples the metrics test_... describe.
        """
        self._events = events
        self._schedule = schedule
        self._clock = clock
        self._throttle = Throttle(METRIC_SECONDS)
        self._first_step = step
        self._held_out = held_out
        self._began = clock.now()
        self._samples = 0

    def add_samples(self, samples: int) -> None:
        """Count the samples of a step."""
        self._samples += samples

    def is_due(self) -> bool:
        """Return whether a metric event is due, and count it as written if so."""
        return self._throttle.allows()

    def report(self, scope: Scope, step: int, values: Dict[str, float]) -> None:
        """Write the metrics of training step `step`, or of the epoch that it ends."""
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
                scope=scope,
                held_out=self._held_out,
            )
        )

    def note(self, message: str) -> None:
        """Write an info line to the log."""
        self._events.log(message)

    def warn(self, message: str) -> None:
        """Write a warning to the log."""
        self._events.log(message, level="warning")
