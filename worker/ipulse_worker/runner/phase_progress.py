"""Reports what a phase does now, how much of it is done, and how long it is expected to take."""

from __future__ import annotations

from dataclasses import replace
from typing import Callable, NamedTuple, Optional, Tuple

from ipulse_core.build_cache.directory import cache_directory
from ipulse_core.build_cache.durations import record_steps, recorded_seconds
from ipulse_core.build_cache.progress import BuildProgress
from ipulse_core.events import ProgressEvent
from ipulse_core.states import Phase
from ipulse_worker.runner.clock import Clock
from ipulse_worker.runner.event_writer import EventWriter, Throttle


class RunnerSteps(NamedTuple):
    """The steps of a runner's start."""

    name: str  # in the cache's file of durations
    steps: Tuple[str, ...]


TRAINING_START = RunnerSteps(
    "runner-start",
    (
        "importing TensorFlow",
        "importing networks, devices and data sets",
        "loading compiled kernels",
    ),
)
CODE_START = RunnerSteps("runner-start-code", ("importing compilers and sandbox",))
# The phase `prepare` of a job begins with the start of its runner, and ends with the data.
START_FRACTION = 0.5
DATA_SECONDS = 2.0  # between two progress events of the data set


class StartProgress:
    """Reports the steps of a runner's start, before it has an assignment."""

    def __init__(self, events: EventWriter, startup: Clock, start: RunnerSteps) -> None:
        """Prepare; `startup` is a clock that was started with the process."""
        self._events = events
        self._startup = startup
        self._start = start
        self._expected = recorded_seconds(cache_directory(), start.name)
        self._done = 0

    def begin_next(self) -> None:
        """Report that the next step begins."""
        steps = self._start.steps
        left = None if self._expected is None else self._expected - self._startup.now()
        self._events.write(
            ProgressEvent(
                phase=Phase.PREPARE.value,
                fraction=START_FRACTION * self._done / len(steps),
                message=steps[self._done],
                steps_done=self._done,
                steps_total=len(steps),
                remaining_seconds=None if left is None or left <= 0 else left,
            )
        )
        self._done += 1

    def end(self) -> None:
        """Record the duration of the start, which later starts are expected to take."""
        record_steps(cache_directory(), self._start.name, [self._startup.now()])


class PhaseProgress:
    """Reports the progress of an attempt's current phase."""

    def __init__(self, events: EventWriter) -> None:
        """Begin with the first phase."""
        self._events = events
        self.phase = Phase.PREPARE

    def __call__(
        self,
        fraction: float,
        message: str,
        build: Optional[BuildProgress] = None,
        steps: Optional[Tuple[int, int]] = None,
    ) -> None:
        """Report the completed fraction of the phase and what is done now.

        build: the build that is in progress, if the phase waits for one.
        steps: otherwise, those done and those in all, if they are counted.
        """
        event = ProgressEvent(self.phase.value, fraction, message)
        if build is not None:
            event = replace(
                event,
                steps_done=build.done,
                steps_total=build.total,
                remaining_seconds=build.remaining,
                waiting=build.waiting,
            )
        elif steps is not None:
            event = replace(event, steps_done=steps[0], steps_total=steps[1])
        self._events.write(event)


def loading_progress(
    progress: PhaseProgress, check: Callable[[], None]
) -> Callable[[int, int], None]:
    """Return a callback that reports the progress of loading and calls `check` each time."""
    throttle = Throttle(DATA_SECONDS)
    throttle.allows()

    def report(done: int, samples: int) -> None:
        check()
        if throttle.allows():
            fraction = START_FRACTION + (1.0 - START_FRACTION) * done / samples
            progress(fraction, "loading samples", steps=(done, samples))

    return report
