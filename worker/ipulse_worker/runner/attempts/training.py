"""One attempt at a job, from its assignment to its results, in five phases."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import Callable, Dict, Iterator, Optional, Type

from ipulse_core.events import Assignment, CheckpointEvent, PhaseEvent
from ipulse_core.poplar_environment import poplar_environment
from ipulse_core.sandbox.bubblewrap import CONFINED
from ipulse_core.spec.custom_ops import op_layers
from ipulse_core.spec.nir_targets import file_name
from ipulse_core.spec.resolved_spec import read_spec
from ipulse_core.states import Phase, Reason
from ipulse_worker.runner import provenance
from ipulse_worker.runner.attempts.artifacts import Artifacts
from ipulse_worker.runner.attempts.outcome import failure_of_ops, training_outcome
from ipulse_worker.runner.attempts.spec_warnings import warnings_of
from ipulse_worker.runner.attempts.training_start import TrainingStart
from ipulse_worker.runner.backends import compilation
from ipulse_worker.runner.backends.cpu import CPU
from ipulse_worker.runner.backends.device import Device
from ipulse_worker.runner.backends.emulator import Emulator
from ipulse_worker.runner.backends.ipu import IPU
from ipulse_worker.runner.cancellation import Cancellation
from ipulse_worker.runner.clock import Timeline, utc_now
from ipulse_worker.runner.data import Dataset
from ipulse_worker.runner.data.load import load
from ipulse_worker.runner.data.targets import with_targets
from ipulse_worker.runner.data.uploaded import directory_of
from ipulse_worker.runner.devices.connection import attaches
from ipulse_worker.runner.devices.description import ignore_progress
from ipulse_worker.runner.event_writer import EventWriter
from ipulse_worker.runner.model.compile_only import execution_outcome
from ipulse_worker.runner.phase_progress import START_FRACTION, PhaseProgress, loading_progress
from ipulse_worker.runner.profile.profile import RunMetadata
from ipulse_worker.runner.results.crossings import crossings_of
from ipulse_worker.runner.results.final_metrics import final_metrics
from ipulse_worker.runner.results.manifest import spec_sha256
from ipulse_worker.runner.results.nir_export import needs_crossings, other_spikes
from ipulse_worker.runner.results.nir_file import require_nir
from ipulse_worker.runner.results.training_results import results_of
from ipulse_worker.runner.runner_start import RunnerStart
from ipulse_worker.runner.training import checkpoint
from ipulse_worker.runner.training.batch_schedule import BatchSchedule
from ipulse_worker.runner.training.evaluation import evaluate
from ipulse_worker.runner.training.loop import Training
from ipulse_worker.runner.training.platforms import OTHER_PLATFORM, TrainingPlatform
from ipulse_worker.runner.training.progress import TrainingProgress, held_out_samples
from ipulse_worker.runner.user_code.ops.ops import CustomOps
from ipulse_worker.runner.user_code.packages import require_packages
from ipulse_worker.runner.work_dir import WorkDir

# The classes of devices by `device.kind`.
DEVICES: Dict[str, Type[Device]] = {device.kind: device for device in (CPU, Emulator, IPU)}

CHECKPOINT = "checkpoint.npz"  # one name, because only the newest state is needed


class AttemptProcess:
    """The assignment of an attempt and its device; runs its phases in the device's order."""

    # Results of a phase for later phases.
    _dataset: Dataset
    _start: TrainingStart
    _training: Training
    _final: Dict[str, float]

    def __init__(
        self,
        assignment: Assignment,
        events: EventWriter,
        cancellation: Cancellation,
        timeline: Timeline,
        start: RunnerStart,
    ) -> None:
        """Read the assignment.

        Raises:
            InvalidInput: with all problems of the assignment.
        """
        self.spec = read_spec(assignment.spec)
        self.spec_sha256 = spec_sha256(self.spec)
        self.assignment = assignment
        self.work_dir = WorkDir(Path(assignment.work_dir))
        self.events = events
        self.cancellation = cancellation
        self.timeline = timeline
        # Times count from when the agent got the job: the job waits for the runner's start, too.
        timeline.begin_earlier(assignment.start_seconds)
        timeline.spans += start.spans_within(assignment.start_seconds)
        self.import_seconds = start.import_seconds
        self.started_at = utc_now()
        if self.spec.device.kind == "ipu":
            # An agent starts this process with these variables; a user may not.
            os.environ.update(poplar_environment(self.spec.device, assignment.work_dir))
        self.device = DEVICES[self.spec.device.kind](self.spec, events.log, cancellation.check)
        self.device.job_id = assignment.job_id
        self.device.directory = self.work_dir.path
        self.progress = self.device.on_progress = PhaseProgress(events)
        self._ops: Optional[CustomOps] = None
        self._has_looked = False  # at what exports would lose, after the first evaluation
        self.message = ""  # the outcome in a sentence
        self.reason = Reason.COMPLETED

    def run(self) -> Dict[str, float]:
        """Run all phases and return the final metrics."""
        steps: Dict[Phase, Callable[[], None]] = {
            Phase.PREPARE: self._prepare,
            Phase.COMPILE: self._compile,
            Phase.ACQUIRE: self.device.acquire,
            Phase.RUN: self._run,
            Phase.REPORT: self._report,
        }
        try:
            for phase in self.device.phases:
                with self._phase(phase):
                    steps[phase]()
        except Exception:
            # TensorFlow passes on the text of an op's error, without its reason.
            failure = failure_of_ops(self._ops, getattr(self, "_training", None))
            if failure is not None:
                raise failure from None
            raise
        finally:
            self.device.release()
            if self._ops is not None:
                self._ops.close()
        return self._final

    @contextmanager
    def _phase(self, phase: Phase) -> Iterator[None]:
        self.cancellation.check()
        ended = self.timeline.of("phase")
        self.events.write(PhaseEvent(phase.value, ended[-1].seconds if ended else None))
        self.progress.phase = phase
        # Each phase begins where the one before ended, so that their sum is the whole.
        with self.timeline.span("phase", phase.value, start=ended[-1].end if ended else 0.0):
            yield

    def _prepare(self) -> None:
        """Load the data; missing dependencies are detected here, before hours of training."""
        self.progress(START_FRACTION, f"reading the data set {self.spec.data.kind}")
        require_nir()
        if op_layers(self.spec.network):
            self._unpack_ops()
        for line in require_packages(self.spec):
            self.events.log(line)
        self.device.configure()
        data_directory = directory_of(self.spec.data, self.work_dir.path, os.environ)
        loaded = load(
            self.spec.data,
            data_directory,
            loading_progress(self.progress, self.cancellation.check),
        )
        self._dataset = dataset = with_targets(loaded, self.spec)
        self.events.log(f"data: {dataset.trains.samples:,} samples, {dataset.events}")
        for warning in dataset.warnings:
            self.events.log(warning, level="warning")
        self._start = TrainingStart(self.assignment, self.spec, data_directory, self._ops)

    def _unpack_ops(self) -> None:
        self.device.ops = self._ops = ops = CustomOps(
            self.spec,
            self.assignment.ops or {},
            self.work_dir.path,
            os.environ,
            self.events.write,
            self.cancellation.check,
        )
        if not ops.is_sandboxed and CONFINED not in os.environ:
            self.events.log("this worker runs custom ops without a sandbox", level="warning")

    def _compile(self) -> None:
        dataset = self._dataset
        start = self.timeline.clock.now()
        if self._ops is not None:
            self.progress(0.0, f"custom ops: {', '.join(self._ops.names)}")
            self._ops.start(lambda build: self.progress(0.0, build.activity, build))
        self.progress(0.0, "looking for compiled programs in the cache")
        training = Training(
            spec=self.spec,
            model=self.device.compile(dataset.trains.slots),
            dataset=dataset,
            schedule=BatchSchedule(
                dataset.training,
                self.spec.training.batch_size,
                self.spec.training.epochs,
                self.spec.seed,
            ),
            timeline=self.timeline,
            kernel_seconds=self.device.kernel_seconds,
        )
        self._start.begin(training, self.events)
        training.platforms.enter(training.step, TrainingPlatform.here(self.spec.device.kind))
        others = [f"{OTHER_PLATFORM}: {other}" for other in training.platforms.others()]
        for warning in [*others, *warnings_of(self.spec)]:
            self.events.log(warning, level="warning")
        self.progress(self.device.compiled_fraction, "tracing TensorFlow's graph of the training")
        training.model.trace()
        self._compile_seconds = self.timeline.clock.now() - start
        self.events.log(compilation.log_message(self.device, self._compile_seconds))
        self._training = training

    def _run(self) -> None:
        training = self._training
        self.progress(training.step / training.schedule.steps, "training the first batch")
        # A growing capacity compiles again during training, outside the compile phase.
        self.device.on_progress = ignore_progress
        progress = TrainingProgress(
            self.events,
            training.schedule,
            self.timeline.clock,
            training.step,
            held_out_samples(self.spec),
        )
        training.run(progress, self.cancellation, lambda: self._save(training))
        if training.augmentation is not None and training.augmentation.dropped:
            self.events.log(
                f"augmentation: {training.augmentation.dropped:,} moved events were dropped: no "
                f"step of the data set has more than {training.dataset.trains.slots:,} events"
            )

    def _save(self, training: Training) -> None:
        with self.timeline.span("checkpoint", f"after step {training.step}"):
            state = training.checkpoint(self.spec_sha256, self.assignment.spec_key)
            checkpoint.save(state, self.work_dir, CHECKPOINT)
        epochs = training.step // training.schedule.steps_per_epoch
        if epochs and not self._has_looked:
            self._has_looked = True
            self._look_at_exports(training)
        self.events.write(CheckpointEvent(path=CHECKPOINT, epoch=epochs, step=training.step))

    def _look_at_exports(self, training: Training) -> None:
        """Log which exports other simulators would run differently if the training ended now."""
        if not needs_crossings(self.spec):
            return
        crossings = crossings_of(self.spec, training.model.arrays, training.dataset)
        for export in self.spec.export.nir:
            for difference in other_spikes(export.target, crossings):
                place = f"{file_name(export.target)} would be another network now"
                self.events.log(f"{place}: {difference}", level="warning")

    def _report(self) -> None:
        if attaches(self.device.connection):
            self._report_training()
        else:
            self._report_compilation()

    def _report_compilation(self) -> None:
        """Write the results of an attempt that only compiled."""
        executables = self.device.executables()
        self._final = {"compile_seconds": self._compile_seconds, "executables": len(executables)}
        execution = execution_outcome(self._training.model, self.device.connection)
        artifacts = Artifacts(self.work_dir, self.events)
        document = compilation.executables_document(self.device, execution)
        artifacts.write_document("executable.json", "executable", document)
        self.cancellation.check()
        artifacts.write_manifest(self.spec, self.run_metadata(self._training), self._final)
        self.message = compilation.outcome_message(self.device)

    def _report_training(self) -> None:
        training = self._training
        run_metadata = self.run_metadata(self._training)
        self.progress(0.0, f"evaluating the {held_out_samples(self.spec)} samples")
        evaluation = evaluate(training.model, training.dataset, self.spec, counts_operations=True)
        self.progress(0.3, "measuring the profile")
        results = results_of(training, evaluation, run_metadata, self.device.poplar_profile())
        self._final = final_metrics(results)
        self._final["epochs_done"] = training.epochs_done
        self.progress(0.6, "writing the results and the report")
        artifacts = Artifacts(self.work_dir, self.events)
        artifacts.write_results(results, training.model.arrays, self.timeline, self.device.files())
        self.cancellation.check()
        artifacts.write_manifest(self.spec, run_metadata, self._final)
        self.message, self.reason = training_outcome(
            self.spec, training, self._final, results.poplar_profile
        )

    def run_metadata(self, training: Training) -> RunMetadata:
        """Return the job, attempt, device and software that results belong to."""
        device = self.device.description()
        return RunMetadata(
            job_id=self.assignment.job_id,
            attempt=self.assignment.attempt,
            started_at=self.started_at,
            spec_sha256=self.spec_sha256,
            import_seconds=self.import_seconds,
            device=device,
            host=provenance.host(),
            versions=provenance.versions(device.compiler),
            platforms=training.platforms.to_json(),
            start=training.start,
        )
