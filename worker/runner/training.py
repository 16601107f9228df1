"""The training loop: steps, figures, checkpoints; it stops cleanly between two steps."""

from __future__ import annotations

from typing import Callable, Dict

import numpy as np

from ipulse.errors import IPUlseError
from ipulse.spec import ExperimentSpec

from .cancellation import Cancellation, Cancelled
from .checkpoint import Checkpoint
from .clock import Timeline
from .data import Dataset
from .history import History, logged_every
from .judging import judge
from .learning_rate import learning_rate
from .model import Model
from .progress import Progress
from .schedule import Schedule
from .step_times import StepTime, StepTimes
from .tally import Tally
from .trace import trace_step

# Cumulative seconds that the kernels took, by "forward" and "backward".
KernelSeconds = Callable[[], Dict[str, float]]


class Diverged(IPUlseError):
    """The loss is no longer a finite number."""

    code = "diverged"


class Training:
    """A model on its way through a schedule. `step` counts training steps done."""

    def __init__(
        self,
        spec: ExperimentSpec,
        model: Model,
        dataset: Dataset,
        schedule: Schedule,
        timeline: Timeline,
        kernel_seconds: KernelSeconds,
    ) -> None:
        self.spec = spec
        self.model = model
        self.dataset = dataset
        self.schedule = schedule
        self.timeline = timeline
        self.kernel_seconds = kernel_seconds
        self.step = 0
        self.resumed_from = 0  # steps that an earlier attempt did
        self.saved = 0  # steps done when `save` was last called
        self.tally = self._empty_tally()  # of the epoch begun
        self.history = History()
        self.times = StepTimes()  # of this attempt
        self.samples = 0  # seen by this attempt's steps

    def resume(self, checkpoint: Checkpoint) -> None:
        """Continues where the checkpoint was taken."""
        self.model.weights = checkpoint.weights
        self.model.optimizer.restore(checkpoint.means, checkpoint.squares)
        self.tally.add(checkpoint.epoch_sums)
        self.history = History(checkpoint.history)
        self.step = self.resumed_from = self.saved = checkpoint.step

    def checkpoint(self, spec_sha256: str) -> Checkpoint:
        """The state between two steps."""
        return Checkpoint(
            spec_sha256=spec_sha256,
            step=self.step,
            weights=self.model.weights,
            means=self.model.optimizer.means,
            squares=self.model.optimizer.squares,
            epoch_sums=self.tally.sums,
            history=self.history.text(),
        )

    def run(self, progress: Progress, cancellation: Cancellation, save: Callable[[], None]) -> None:
        """Trains to the end of the schedule; `save` is called whenever a checkpoint is due.

        Raises Diverged, and Cancelled after saving what was trained.
        """
        while self.step < self.schedule.steps:
            epoch = self.schedule.epoch(self.step) + 1
            with self.timeline.span("epoch", f"epoch {epoch}"):
                self._run_epoch(epoch, progress, cancellation, save)

    def _run_epoch(
        self,
        epoch: int,
        progress: Progress,
        cancellation: Cancellation,
        save: Callable[[], None],
    ) -> None:
        while True:
            if cancellation.requested:
                self._save(save)
                raise Cancelled
            self._run_step(epoch, progress)
            if self.schedule.ends_epoch(self.step - 1):
                break
        values = {**self.tally.values(), **self._test_values()}
        self._check_finite(epoch, values)
        self.history.add("epoch", epoch, self.step, values)
        progress.tell(self.step, values)
        self.tally = self._empty_tally()
        if epoch % self.spec.training.checkpoint_epochs == 0 or self.step == self.schedule.steps:
            self._save(save)

    def _save(self, save: Callable[[], None]) -> None:
        if self.step > self.saved:
            save()
            self.saved = self.step

    def _run_step(self, epoch: int, progress: Progress) -> None:
        now = self.timeline.clock.now
        before = self.kernel_seconds()
        begun = now()
        samples = self.schedule.batch(self.step)
        ids, counts = self.dataset.trains.batch(samples)
        labels = self.dataset.labels[samples]
        batched = now()
        gradients, sums = self.model.derive(ids, counts, labels)
        derived = now()
        rate = learning_rate(self.spec.training, self.step + 1, self.schedule.steps)
        self.model.apply(gradients, self.step + 1, rate)
        applied = now()
        self.step += 1
        loss = self._record(epoch, sums, progress)
        after = self.kernel_seconds()
        ended = now()
        time = StepTime(
            begun=begun,
            batched=batched,
            derived=derived,
            applied=applied,
            ended=ended,
            forward=after["forward"] - before["forward"],
            backward=after["backward"] - before["backward"],
        )
        self.times.add(time)
        trace_step(self.timeline, self.step, time, loss)

    def _record(self, epoch: int, sums: np.ndarray, progress: Progress) -> float:
        """Takes a step's figures to where they belong; returns its loss."""
        step = self._empty_tally()
        step.add(sums)
        if not np.isfinite(step.loss):
            raise Diverged(self._cure("the loss", epoch))
        self.tally.add(sums)
        self.samples += int(sums[0])
        progress.saw(int(sums[0]))
        if self.step % logged_every(self.schedule) == 0:
            self.history.add("step", epoch, self.step, step.values())
        if not self.schedule.ends_epoch(self.step - 1) and progress.due():
            progress.tell(self.step, self.tally.values())
        return step.loss

    def _test_values(self) -> Dict[str, float]:
        with self.timeline.span("evaluation", "held-out samples"):
            tally = judge(self.model, self.dataset, self.spec).tally
        return {"test_loss": tally.loss, "test_accuracy": tally.accuracy}

    def _check_finite(self, epoch: int, values: Dict[str, float]) -> None:
        """A neuron with a weight that is no number stays silent, so the loss alone may not tell."""
        if not np.isfinite(values["test_loss"]):
            raise Diverged(self._cure("the held-out loss", epoch))
        if not all(np.isfinite(matrix).all() for matrix in self.model.weights):
            raise Diverged(self._cure("a weight", epoch))

    def _cure(self, what: str, epoch: int) -> str:
        return (
            f"{what} is no longer a finite number at step {self.step:,} (epoch {epoch:,}): lower "
            "training.optimizer.learning_rate or network.initial_membrane_std"
        )

    def _empty_tally(self) -> Tally:
        layers = self.spec.network.layers
        return Tally([layer.neurons for layer in layers], self.spec.data.steps)
