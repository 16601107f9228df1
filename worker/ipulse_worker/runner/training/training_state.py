"""The state of a training between two steps, and its checkpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Dict, Optional

from ipulse_worker.runner.clock import Timeline
from ipulse_worker.runner.data import Dataset
from ipulse_worker.runner.model.model import Model
from ipulse_worker.runner.model.state import State, part, within
from ipulse_worker.runner.training.augmentation import augmentation_of
from ipulse_worker.runner.training.batch_schedule import BatchSchedule
from ipulse_worker.runner.training.checkpoint import Checkpoint
from ipulse_worker.runner.training.early_stopping import EarlyStopping
from ipulse_worker.runner.training.history import History
from ipulse_worker.runner.training.metric_accumulator import empty_accumulator
from ipulse_worker.runner.training.platforms import PlatformHistory
from ipulse_worker.runner.training.second_threshold_schedule import SecondThresholdSchedule
from ipulse_worker.runner.training.step_times import StepTimes

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec

# Returns the cumulative seconds of the kernels, by "forward" and "backward".
KernelSeconds = Callable[[], Dict[str, float]]


class TrainingState:
    """The parts of a training that a checkpoint keeps. `step` counts completed training steps."""

    def __init__(
        self,
        spec: ExperimentSpec,
        model: Model,
        dataset: Dataset,
        schedule: BatchSchedule,
        timeline: Timeline,
        kernel_seconds: KernelSeconds,
    ) -> None:
        """Start before the first step.

        Raises:
            InvalidSpec: device.steps_per_execution does not divide the steps of an epoch.
        """
        self.spec = spec
        self.model = model
        self.dataset = dataset
        self.schedule = schedule
        schedule.require_whole_executions(model.steps_per_execution)
        self.timeline = timeline
        self.kernel_seconds = kernel_seconds
        self.augmentation = augmentation_of(spec, dataset.trains)
        self.threshold_schedule = SecondThresholdSchedule(spec)
        stopping = spec.training.early_stopping
        self.early_stopping: Optional[EarlyStopping] = None
        if stopping is not None:
            self.early_stopping = EarlyStopping(stopping, model.trained)
        self.step = 0
        self.resumed_from = 0  # steps of earlier attempts
        self.finished_early = False  # on request
        self.saved = 0  # steps at the last checkpoint
        self.metrics = empty_accumulator(spec)  # of the current epoch
        self.history = History()
        self.platforms = PlatformHistory()
        self.start: Optional[Dict[str, Any]] = None  # where the initial weights are from
        self.times = StepTimes()  # of this attempt
        self.samples = 0  # in the steps of this attempt

    def restore(self, checkpoint: Checkpoint) -> None:
        """Load the state of a checkpoint."""
        state = checkpoint.state
        self.model.restore(part("model", state))
        self.threshold_schedule.restore(part("gates", state))
        if self.early_stopping is not None:
            self.early_stopping.restore(part("early_stopping", state))
        self.metrics.add(state["epoch_sums"])
        self.history = History(checkpoint.history)
        self.platforms = PlatformHistory(checkpoint.platforms)
        self.start = checkpoint.start
        self.step = self.resumed_from = self.saved = checkpoint.step

    def state(self) -> State:
        """Return the state of all parts for a checkpoint."""
        state = {
            **within("model", self.model.state()),
            **within("gates", self.threshold_schedule.state()),
            "epoch_sums": self.metrics.sums,
        }
        if self.early_stopping is not None:
            state.update(within("early_stopping", self.early_stopping.state()))
        return state

    def checkpoint(self, spec_sha256: str, spec_key: Optional[str] = None) -> Checkpoint:
        """Return a checkpoint of the state between two steps."""
        return Checkpoint(
            spec_sha256=spec_sha256,
            step=self.step,
            state=self.state(),
            history=self.history.text(),
            platforms=self.platforms.to_json(),
            start=self.start,
            spec_key=spec_key,
        )

    @property
    def epochs_done(self) -> float:
        """The epochs that were trained, the last of which may be a part."""
        return round(self.step / self.schedule.steps_per_epoch, 3)

    @property
    def is_over(self) -> bool:
        """Return whether no step follows."""
        at_end = self.step == self.schedule.steps
        return at_end or self.stopped_early or self.finished_early

    @property
    def kept_epoch(self) -> int:
        """The epoch, from 1, of the weights that are kept."""
        if self.early_stopping is not None and self.early_stopping.restores:
            return self.early_stopping.best_epoch
        return self.schedule.epoch(self.step - 1) + 1

    @property
    def stopped_early(self) -> bool:
        """Return whether early stopping ended the training."""
        return self.early_stopping is not None and self.early_stopping.stopped
