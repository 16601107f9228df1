"""Train an experiment in this process as a runner does, without an agent."""

from __future__ import annotations

import os

from ipulse.spec import ExperimentSpec

# Read when TensorFlow is imported; ipulse_worker.runner sets them, too.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

from ipulse_core.data_files.directory import DataDirectory
from ipulse_ops.lif.cpu import native
from ipulse_ops.lif.poplar import build as poplar_op
from ipulse_worker.runner.clock import Clock, Timeline
from ipulse_worker.runner.data.load import load
from ipulse_worker.runner.model.emulated_model import EmulatedModel
from ipulse_worker.runner.model.initial_weights import initial_weights
from ipulse_worker.runner.model.model import Model
from ipulse_worker.runner.training.batch_schedule import BatchSchedule
from ipulse_worker.runner.training.evaluation import evaluate
from ipulse_worker.runner.training.loop import Training
from ipulse_worker.runner.training.metric_accumulator import MetricAccumulator
from poplar_emulator.user_op import emulated_ipus


class _NoReports:
    """Ignores progress, and never cancels."""

    requested = False
    finish_requested = False

    def add_samples(self, samples: int) -> None: ...

    def is_due(self) -> bool:
        return False

    def report(self, scope: str, step: int, values: object) -> None: ...

    def note(self, message: str) -> None: ...

    def warn(self, message: str) -> None: ...


def build_kernels() -> None:
    """Compile the kernels, the first time on a machine."""
    native.build_tensorflow_op()


def _model(spec: ExperimentSpec, slots: int) -> Model:
    device, threads = spec.device, len(os.sched_getaffinity(0))
    if device.kind != "emulator":
        return Model(spec, slots, threads)
    emulated = emulated_ipus(device.ipus, device.tiles)
    if device.training == "device":
        return EmulatedModel(spec, slots, threads, emulated, poplar_op.build())
    return Model(spec, slots, threads, batch=spec.training.batch_size)


def train(spec: ExperimentSpec) -> MetricAccumulator:
    """Train to the end; return the metrics of the held-out samples."""
    build_kernels()
    dataset = load(
        spec.data, DataDirectory.from_environment(os.environ), lambda done, samples: None
    )
    settings = spec.training
    training = Training(
        spec=spec,
        model=_model(spec, dataset.trains.slots),
        dataset=dataset,
        schedule=BatchSchedule(dataset.training, settings.batch_size, settings.epochs, spec.seed),
        timeline=Timeline(Clock()),
        kernel_seconds=native.timings,
    )
    training.model.weights = initial_weights(spec, dataset)
    training.begin()
    no_reports = _NoReports()
    training.run(no_reports, no_reports, lambda: None)  # type: ignore[arg-type] # has what is used
    return evaluate(training.model, dataset, spec).metrics
