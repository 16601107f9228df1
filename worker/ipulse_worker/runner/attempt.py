"""One attempt at a job, from its assignment to its results, in five phases."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import Callable, Dict, Iterator, Optional

from ipulse_core.errors import InvalidInput, Problem
from ipulse_core.events import PROTOCOL, Assignment, CheckpointEvent, PhaseEvent
from ipulse_core.op_manifest.layer import op_layers
from ipulse_core.poplar_environment import poplar_environment
from ipulse_core.states import Phase, Reason
from ipulse_worker.runner.cancellation import Cancellation
from ipulse_worker.runner.clock import Timeline, utc_now
from ipulse_worker.runner.data import Dataset
from ipulse_worker.runner.data.load import load
from ipulse_worker.runner.data.targets import with_targets
from ipulse_worker.runner.data.uploaded import directory_of
from ipulse_worker.runner.devices import compilation
from ipulse_worker.runner.devices.connection import attaches
from ipulse_worker.runner.devices.device import ignore_progress
from ipulse_worker.runner.devices.kinds import device_of
from ipulse_worker.runner.event_writer import EventWriter
from ipulse_worker.runner.model.compile_only import execution_outcome
from ipulse_worker.runner.op.ops import CustomOps
from ipulse_worker.runner.phase_progress import START_FRACTION, PhaseProgress, loading_progress
from ipulse_worker.runner.profile.gates import FAILED_GATES, broken_gates
from ipulse_worker.runner.profile.profile import RunMetadata
from ipulse_worker.runner.resolved_spec import read_spec
from ipulse_worker.runner.results import provenance
from ipulse_worker.runner.results.artifacts import Artifacts
from ipulse_worker.runner.results.final_metrics import final_metrics, held_out_score
from ipulse_worker.runner.results.manifest import spec_sha256
from ipulse_worker.runner.results.nir_file import require_nir
from ipulse_worker.runner.results.training_results import results_of
from ipulse_worker.runner.runner_start import RunnerStart
from ipulse_worker.runner.spec_warnings import warnings_of
from ipulse_worker.runner.training import checkpoint
from ipulse_worker.runner.training.batch_schedule import BatchSchedule
from ipulse_worker.runner.training.divergence import diverged
from ipulse_worker.runner.training.evaluation import evaluate
from ipulse_worker.runner.training.loop import Training
from ipulse_worker.runner.training.platforms import OTHER_PLATFORM, TrainingPlatform
from ipulse_worker.runner.training_progress import TrainingProgress, held_out_samples
from ipulse_worker.runner.training_start import TrainingStart
from ipulse_worker.runner.work_dir import WorkDir

CHECKPOINT = "checkpoint.npz"  # one name, because only the newest state is needed


class AttemptProcess:
    """Runs the phases of an attempt in the device's order."""

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
        if assignment.protocol != PROTOCOL:
            detail = f"this runner uses protocol {PROTOCOL}; got {assignment.protocol}"
            raise InvalidInput([Problem("/protocol", "wrong_protocol", detail)])
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
        self.device = device_of(self.spec, events.log, cancellation.check)
        self.device.job_id = assignment.job_id
        self.device.directory = self.work_dir.path
        self.progress = self.device.on_progress = PhaseProgress(events)
        self._ops: Optional[CustomOps] = None
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
            if self._ops is not None and self._ops.failure is not None:
                raise self._ops.failure from None
            if hasattr(self, "_training"):
                failure = getattr(self._training.model.net, "failure", None)
                if failure is not None:
                    raise diverged(failure, self._training) from None
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
        if not ops.is_sandboxed:
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
        self._start.begin(training, self.spec_sha256, self.events)
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
            state = training.checkpoint(self.spec_sha256)
            checkpoint.save(state, self.work_dir, CHECKPOINT)
        epochs = training.step // training.schedule.steps_per_epoch
        self.events.write(CheckpointEvent(path=CHECKPOINT, epoch=epochs, step=training.step))

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
        artifacts.write_manifest(self.spec, self._run_metadata(), self._final)
        self.message = compilation.outcome_message(self.device)

    def _report_training(self) -> None:
        training = self._training
        run_metadata = self._run_metadata()
        self.progress(0.0, f"evaluating the {held_out_samples(self.spec)} samples")
        evaluation = evaluate(training.model, training.dataset, self.spec)
        self.progress(0.3, "measuring the profile")
        results = results_of(training, evaluation, run_metadata, self.device.poplar_profile())
        self._final = final_metrics(results)
        self._final["epochs_done"] = training.epochs_done
        self.progress(0.6, "writing the results and the report")
        artifacts = Artifacts(self.work_dir, self.events)
        artifacts.write_results(results, training.model.arrays, self.timeline, self.device.files())
        self.cancellation.check()
        artifacts.write_manifest(self.spec, run_metadata, self._final)
        split = held_out_samples(self.spec).capitalize()
        self.message = f"{split} {held_out_score(self._final)} (epoch {training.kept_epoch:,})."
        if training.finished_early:
            self.reason = Reason.FINISHED_EARLY
            done, epochs = training.epochs_done, training.schedule.epochs
            self.message += f" Finished early, after {done:g} of {epochs:,} epochs."
        broken = broken_gates(self.spec, results.poplar_profile)
        if broken:
            self.reason = Reason.GATE_FAILED
            self.message = f"{FAILED_GATES}: {'; '.join(broken)}. {self.message}"

    def _run_metadata(self) -> RunMetadata:
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
            platforms=self._training.platforms.to_json(),
            start=self._training.start,
        )
