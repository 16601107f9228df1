"""The training loop: steps, metrics and checkpoints; it stops cleanly between two steps."""

from __future__ import annotations

from typing import Callable, Dict

import tensorflow as tf

from ipulse_worker.runner.cancellation import Cancellation, Cancelled
from ipulse_worker.runner.model.batches import StepResult, TrainingBatch
from ipulse_worker.runner.training.checkpoint import Checkpoint
from ipulse_worker.runner.training.divergence import require_finite
from ipulse_worker.runner.training.evaluation import evaluate
from ipulse_worker.runner.training.history import logged_every
from ipulse_worker.runner.training.learning_rate import learning_rate
from ipulse_worker.runner.training.progress import TrainingProgress
from ipulse_worker.runner.training.step_times import step_times_of
from ipulse_worker.runner.training.trace import trace_step
from ipulse_worker.runner.training.training_state import TrainingState


class Training(TrainingState):
    """Trains a model by a schedule of batches; `begin` or `resume` must come first."""

    def begin(self) -> None:
        """Apply the limits of the first step, so that graphs are traced with them."""
        self._apply_limits()
        self.model.feed(self._batch, self.step + 1)

    def resume(self, checkpoint: Checkpoint) -> None:
        """Continue from the checkpoint."""
        self.restore(checkpoint)
        self.begin()

    def run(
        self, progress: TrainingProgress, cancellation: Cancellation, save: Callable[[], None]
    ) -> None:
        """Train to the end of the schedule, until early stopping, or until a finish is asked for.

        `save` is called whenever a checkpoint is due.

        Raises:
            Diverged: the loss or a weight is not finite.
            Cancelled: the attempt was cancelled; a checkpoint was saved.
        """
        while not self.is_over:
            epoch = self.schedule.epoch(self.step) + 1
            with self.timeline.span("epoch", f"epoch {epoch}"):
                self._run_epoch(epoch, progress, cancellation, save)
        if self.early_stopping is not None and self.early_stopping.restores:
            self.model.trained = self.early_stopping.kept
        self._apply_limits()  # a run that is resumed here has them, too

    def _run_epoch(
        self,
        epoch: int,
        progress: TrainingProgress,
        cancellation: Cancellation,
        save: Callable[[], None],
    ) -> None:
        self._apply_limits()
        while True:
            if cancellation.requested:
                self._save(save)
                raise Cancelled
            self._run_execution(epoch, progress)
            if self.schedule.ends_epoch(self.step - 1):
                break
            if cancellation.finish_requested:
                # Saved within the epoch, so that the job can be continued as if it had not ended.
                self.finished_early = True
                self._save(save)
                break
        self._check_weights(epoch)
        values = {**self.metrics.values(), **self._held_out_values(), **self._settings()}
        for name in ("test_loss", "validation_loss"):
            require_finite("the test loss", values.get(name, 0.0), self.step, epoch)
        self.history.add("epoch", epoch, self.step, values)
        progress.report("epoch", self.step, values)
        self.metrics = self.metrics.fresh()
        self.threshold_schedule.end_epoch()
        if self.early_stopping is not None:
            self.early_stopping.update(epoch, values, self.model.trained)
            if self.stopped_early:
                progress.note(f"stopped early after epoch {epoch}: {self.early_stopping.why}")
        if cancellation.finish_requested and not self.is_over:
            self.finished_early = True
            progress.note(f"finished early after epoch {epoch}")
        if epoch % self.spec.training.checkpoint_epochs == 0 or self.is_over:
            self._save(save)

    def _save(self, save: Callable[[], None]) -> None:
        if self.step > self.saved:
            save()
            self.saved = self.step

    def _run_execution(self, epoch: int, progress: TrainingProgress) -> None:
        """Run the steps of one execution of the device."""
        now = self.timeline.clock.now
        before, start = self.kernel_seconds(), now()
        try:
            execution = self.model.execute(self.step + 1, now)
        except tf.errors.InvalidArgumentError:
            self._check_weights(epoch)  # the op refuses a decay that is not finite
            raise
        executed = now()
        losses = [self._record(epoch, result, progress) for result in execution.step_results]
        if not self.schedule.ends_epoch(self.step - 1):
            self._apply_limits()
        after, end = self.kernel_seconds(), now()
        kernels = {name: after[name] - before[name] for name in ("forward", "backward")}
        times = step_times_of(
            execution, start, executed, end, kernels["forward"], kernels["backward"]
        )
        first = self.step - len(losses) + 1
        for number, (time, loss) in enumerate(zip(times, losses), start=first):
            self.times.add(time)
            trace_step(self.timeline, number, time, loss)

    def _batch(self, step: int) -> TrainingBatch:
        """Return the batch of training step `step`, from 1."""
        samples = self.schedule.batch(step - 1)
        if self.augmentation is None:
            ids, counts = self.dataset.trains.batch(samples)
        else:
            ids, counts = self.augmentation.batch(samples, self.schedule.epoch(step - 1))
        return TrainingBatch(ids, counts, self.dataset.wanted(samples), self._rate(step))

    def _record(self, epoch: int, result: StepResult, progress: TrainingProgress) -> float:
        """Record the metrics of a step; return its loss."""
        self.step += 1
        step = self.metrics.fresh()
        step.add(result.sums)
        require_finite("the loss", step.loss, self.step, epoch)
        self.metrics.add(result.sums)
        self.samples += int(result.sums[0])
        progress.add_samples(int(result.sums[0]))
        if self.step % logged_every(self.schedule) == 0:
            self.history.add("step", epoch, self.step, step.values())
        if not self.schedule.ends_epoch(self.step - 1) and progress.is_due():
            progress.report("step", self.step, step.values())
        for warning in self.threshold_schedule.observe_step(self.step, step, result.max_spikes):
            progress.warn(warning)
        return step.loss

    def _apply_limits(self) -> None:
        """Give the model the limits of the next step, if they differ from its present ones."""
        limits = self.threshold_schedule.limits(self.schedule.epoch(self.step))
        if not limits.equals(self.model.limits):
            self.model.adapt(limits)

    def _rate(self, step: int) -> float:
        return learning_rate(self.spec.training, step, self.schedule.steps)

    def _settings(self) -> Dict[str, float]:
        """Return the settings of the epoch's last step as metrics."""
        limits = self.threshold_schedule.metrics(self.model.limits)
        return {"learning_rate": self._rate(self.step), **limits}

    def _held_out_values(self) -> Dict[str, float]:
        values = {}
        parts = {"test": self.dataset.test, "validation": self.dataset.validation}
        with self.timeline.span("evaluation", "test samples"):
            for name, samples in parts.items():
                if len(samples):
                    metrics = evaluate(self.model, self.dataset, self.spec, samples).metrics
                    values[f"{name}_loss"] = metrics.loss
                    values[f"{name}_{metrics.score_name}"] = metrics.score
        return values

    def _check_weights(self, epoch: int) -> None:
        """Raise Diverged for non-finite weights, which may silence neurons and spare the loss."""
        for matrix in self.model.trained:
            require_finite("a weight", matrix, self.step, epoch)
