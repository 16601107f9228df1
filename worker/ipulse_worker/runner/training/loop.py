"""The training loop: steps, figures, checkpoints; it stops cleanly between two steps."""

from __future__ import annotations

from typing import Callable, Dict, Optional

import numpy as np
import tensorflow as tf

from ipulse.spec import ExperimentSpec
from ipulse_core.errors import InvalidSpec, IPUlseError, Problem
from ipulse_worker.runner.cancellation import Cancellation, Cancelled
from ipulse_worker.runner.clock import Timeline
from ipulse_worker.runner.data import Dataset
from ipulse_worker.runner.model.model import Model
from ipulse_worker.runner.model.network import spiking_names, spiking_neurons
from ipulse_worker.runner.profile.step_times import StepTimes, step_times_of
from ipulse_worker.runner.profile.trace import trace_step
from ipulse_worker.runner.progress import Progress
from ipulse_worker.runner.training.batch_schedule import Schedule
from ipulse_worker.runner.training.batches import Learned, TrainingBatch
from ipulse_worker.runner.training.checkpoint import Checkpoint
from ipulse_worker.runner.training.early_stopping import EarlyStopping
from ipulse_worker.runner.training.evaluation import judge
from ipulse_worker.runner.training.history import History, logged_every
from ipulse_worker.runner.training.learning_rate import learning_rate
from ipulse_worker.runner.training.metric_accumulator import Tally
from ipulse_worker.runner.training.second_threshold_schedule import GateControl
from ipulse_worker.runner.training.state import State, part, within

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
        """Raises InvalidSpec if the executions do not fill an epoch."""
        self.spec = spec
        self.model = model
        self.dataset = dataset
        self.schedule = schedule
        self._check_executions()
        self.timeline = timeline
        self.kernel_seconds = kernel_seconds
        self.gate_control = GateControl(spec)
        stopping = spec.training.early_stopping
        self.early_stopping: Optional[EarlyStopping] = None
        if stopping is not None:
            self.early_stopping = EarlyStopping(stopping, model.trained)
        self.step = 0
        self.resumed_from = 0  # steps that an earlier attempt did
        self.saved = 0  # steps done when `save` was last called
        self.tally = empty_tally(spec)  # of the epoch begun
        self.history = History()
        self.times = StepTimes()  # of this attempt
        self.samples = 0  # seen by this attempt's steps

    def begin(self) -> None:
        """Before the first step: the gates of the first epoch, so that tracing sees them."""
        self._set_gates()
        self.model.feed(self._batch, self.step + 1)

    def resume(self, checkpoint: Checkpoint) -> None:
        """Continues where the checkpoint was taken."""
        state = checkpoint.state
        self.model.restore(part("model", state))
        self.gate_control.restore(part("gates", state))
        if self.early_stopping is not None:
            self.early_stopping.restore(part("early_stopping", state))
        self.tally.add(state["epoch_sums"])
        self.history = History(checkpoint.history)
        self.step = self.resumed_from = self.saved = checkpoint.step
        self.begin()

    def state(self) -> State:
        """What a checkpoint has of the parts."""
        state = {
            **within("model", self.model.state()),
            **within("gates", self.gate_control.state()),
            "epoch_sums": self.tally.sums,
        }
        if self.early_stopping is not None:
            state.update(within("early_stopping", self.early_stopping.state()))
        return state

    def checkpoint(self, spec_sha256: str) -> Checkpoint:
        """The state between two steps."""
        return Checkpoint(
            spec_sha256=spec_sha256,
            step=self.step,
            state=self.state(),
            history=self.history.text(),
        )

    @property
    def kept_epoch(self) -> int:
        """The epoch, from 1, whose weights are the result."""
        if self.early_stopping is not None and self.early_stopping.restores:
            return self.early_stopping.best_epoch
        return self.schedule.epoch(self.step - 1) + 1

    @property
    def stopped_early(self) -> bool:
        return self.early_stopping is not None and self.early_stopping.stopped

    def run(self, progress: Progress, cancellation: Cancellation, save: Callable[[], None]) -> None:
        """Trains to the end of the schedule, or until it is stopped early; `save` is called
        whenever a checkpoint is due.

        Raises Diverged, and Cancelled after saving what was trained.
        """
        while self.step < self.schedule.steps and not self.stopped_early:
            epoch = self.schedule.epoch(self.step) + 1
            with self.timeline.span("epoch", f"epoch {epoch}"):
                self._run_epoch(epoch, progress, cancellation, save)
        if self.early_stopping is not None and self.early_stopping.restores:
            self.model.trained = self.early_stopping.kept
        self._set_gates()  # as a run has them that is resumed here

    def _run_epoch(
        self,
        epoch: int,
        progress: Progress,
        cancellation: Cancellation,
        save: Callable[[], None],
    ) -> None:
        self._set_gates()
        while True:
            if cancellation.requested:
                self._save(save)
                raise Cancelled
            self._run_execution(epoch, progress)
            if self.schedule.ends_epoch(self.step - 1):
                break
        self._check_weights(epoch)
        values = {**self.tally.values(), **self._test_values(), **self._settings()}
        if not np.isfinite(values["test_loss"]):
            raise Diverged(self._cure("the held-out loss", epoch))
        self.history.add("epoch", epoch, self.step, values)
        progress.tell(self.step, values)
        self.tally = self.tally.fresh()
        self.gate_control.ended_epoch()
        if self.early_stopping is not None:
            self.early_stopping.saw(epoch, values, self.model.trained)
            if self.stopped_early:
                progress.note(f"stopped early after epoch {epoch}: {self.early_stopping.why}")
        ends = self.step == self.schedule.steps or self.stopped_early
        if epoch % self.spec.training.checkpoint_epochs == 0 or ends:
            self._save(save)

    def _save(self, save: Callable[[], None]) -> None:
        if self.step > self.saved:
            save()
            self.saved = self.step

    def _run_execution(self, epoch: int, progress: Progress) -> None:
        """As many steps as the device does before it returns."""
        now = self.timeline.clock.now
        before, begun = self.kernel_seconds(), now()
        try:
            execution = self.model.execute(self.step + 1, now)
        except tf.errors.InvalidArgumentError:
            self._check_weights(epoch)  # a decay that is no number is refused by the op
            raise
        executed = now()
        losses = [self._record(epoch, learned, progress) for learned in execution.learned]
        if not self.schedule.ends_epoch(self.step - 1):
            self._set_gates()
        after, ended = self.kernel_seconds(), now()
        kernels = {name: after[name] - before[name] for name in ("forward", "backward")}
        times = step_times_of(
            execution, begun, executed, ended, kernels["forward"], kernels["backward"]
        )
        first = self.step - len(losses) + 1
        for number, (time, loss) in enumerate(zip(times, losses), start=first):
            self.times.add(time)
            trace_step(self.timeline, number, time, loss)

    def _batch(self, step: int) -> TrainingBatch:
        """Of training step `step`, from 1."""
        samples = self.schedule.batch(step - 1)
        ids, counts = self.dataset.trains.batch(samples)
        return TrainingBatch(ids, counts, self.dataset.labels[samples], self._rate(step))

    def _record(self, epoch: int, learned: Learned, progress: Progress) -> float:
        """Takes a step's figures to where they belong; returns its loss."""
        self.step += 1
        step = self.tally.fresh()
        step.add(learned.sums)
        if not np.isfinite(step.loss):
            raise Diverged(self._cure("the loss", epoch))
        self.tally.add(learned.sums)
        self.samples += int(learned.sums[0])
        progress.saw(int(learned.sums[0]))
        if self.step % logged_every(self.schedule) == 0:
            self.history.add("step", epoch, self.step, step.values())
        if not self.schedule.ends_epoch(self.step - 1) and progress.due():
            progress.tell(self.step, self.tally.values())
        for warning in self.gate_control.saw_step(self.step, step, learned.most):
            progress.warn(warning)
        return step.loss

    def _set_gates(self) -> None:
        """The gates of the step to come, if they differ from those of the step before."""
        gates = self.gate_control.gates(self.schedule.epoch(self.step))
        if not gates.same_as(self.model.gates):
            self.model.adapt(gates)

    def _check_executions(self) -> None:
        steps, together = self.schedule.steps_per_epoch, self.model.steps_per_execution
        if steps % together:
            detail = f"{together:,} does not divide the {steps:,} steps of an epoch"
            raise InvalidSpec([Problem("/device/steps_per_execution", "inconsistent", detail)])

    def _rate(self, step: int) -> float:
        return learning_rate(self.spec.training, step, self.schedule.steps)

    def _settings(self) -> Dict[str, float]:
        """What the epoch's last step was done with."""
        gates = self.gate_control.figures(self.model.gates)
        return {"learning_rate": self._rate(self.step), **gates}

    def _test_values(self) -> Dict[str, float]:
        with self.timeline.span("evaluation", "held-out samples"):
            tally = judge(self.model, self.dataset, self.spec).tally
        return {"test_loss": tally.loss, "test_accuracy": tally.accuracy}

    def _check_weights(self, epoch: int) -> None:
        """A neuron with a weight that is no number stays silent, so the loss alone may not tell."""
        if not all(np.isfinite(matrix).all() for matrix in self.model.trained):
            raise Diverged(self._cure("a weight", epoch))

    def _cure(self, what: str, epoch: int) -> str:
        return (
            f"{what} is no longer a finite number at step {self.step:,} (epoch {epoch:,}): lower "
            "training.optimizer.learning_rate or network.initial_membrane_std"
        )


def empty_tally(spec: ExperimentSpec) -> Tally:
    return Tally(spiking_names(spec), spiking_neurons(spec), spec.data.steps)
