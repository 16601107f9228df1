"""One training in this process, put together as a runner does it, without an agent."""

from __future__ import annotations

import os

from ipulse.spec import ExperimentSpec

# Read when TensorFlow is imported; as ipulse_worker.runner sets them.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

from ipulse_ops.lif.cpu import native
from ipulse_worker.runner.clock import Clock, Timeline
from ipulse_worker.runner.data.directory import DataDirectory
from ipulse_worker.runner.data.load import load
from ipulse_worker.runner.model.initial_weights import initial_weights
from ipulse_worker.runner.model.model import Model
from ipulse_worker.runner.training.batch_schedule import BatchSchedule
from ipulse_worker.runner.training.evaluation import evaluate
from ipulse_worker.runner.training.loop import Training
from ipulse_worker.runner.training.metric_accumulator import MetricAccumulator


class _Silence:
    """A progress that nobody hears, and a cancellation that nobody asks for."""

    requested = False

    def add_samples(self, samples: int) -> None: ...

    def is_due(self) -> bool:
        return False

    def report(self, step: int, values: object) -> None: ...


def build_kernels() -> None:
    """Compiles them, the first time on a machine."""
    native.build_tensorflow_op()


def train(spec: ExperimentSpec) -> MetricAccumulator:
    """Trains to the end; returns the figures of the held-out samples."""
    build_kernels()
    dataset = load(
        spec.data, DataDirectory.from_environment(os.environ), lambda done, samples: None
    )
    settings = spec.training
    training = Training(
        spec=spec,
        model=Model(spec, dataset.trains.slots, len(os.sched_getaffinity(0))),
        dataset=dataset,
        schedule=BatchSchedule(dataset.training, settings.batch_size, settings.epochs, spec.seed),
        timeline=Timeline(Clock()),
        kernel_seconds=native.timings,
    )
    training.model.weights = initial_weights(spec, dataset)
    training.begin()
    silence = _Silence()
    training.run(silence, silence, lambda: None)  # type: ignore[arg-type] # what it asks of them
    return evaluate(training.model, dataset, spec).metrics
