"""Trainings in the test's own process: what the attempt puts together, without its pipe."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Tuple

from ipulse_core.data_files.directory import DataDirectory
from ipulse_ops.lif.cpu import native
from ipulse_worker.runner.clock import Clock, Timeline
from ipulse_worker.runner.data import Dataset
from ipulse_worker.runner.data.load import load
from ipulse_worker.runner.event_writer import EventWriter
from ipulse_worker.runner.model.initial_weights import initial_weights
from ipulse_worker.runner.model.model import Model
from ipulse_worker.runner.training.batch_schedule import BatchSchedule
from ipulse_worker.runner.training.loop import Training
from ipulse_worker.runner.training.progress import TrainingProgress

from .specs import spec_from

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec


def spec_of(**changes: Any) -> ExperimentSpec:
    """A spec of the tests' size; `changes` go over its top-level fields."""
    document: Dict[str, Any] = {
        "version": 1,
        "seed": 3,
        "data": {"kind": "digits", "samples": 120},
        "network": {
            "layers": [
                {"neurons": 20, "second_threshold": 0.5},
                {"neurons": 16, "capacity": 4},
            ]
        },
        "training": {"epochs": 3, "batch_size": 32},
    }
    return spec_from({**document, **changes})


def training_of(spec: ExperimentSpec, threads: int = 2) -> Training:
    """Ready for its first step."""
    dataset = load(spec.data, DataDirectory(None), lambda done, samples: None)
    return training_on(spec, dataset, threads)


def training_on(spec: ExperimentSpec, dataset: Dataset, threads: int = 2) -> Training:
    """Ready for its first step on a data set."""
    model = Model(spec, dataset.trains.slots, threads)
    model.weights = initial_weights(spec, dataset)
    settings = spec.training
    training = Training(
        spec=spec,
        model=model,
        dataset=dataset,
        schedule=BatchSchedule(dataset.training, settings.batch_size, settings.epochs, spec.seed),
        timeline=Timeline(Clock()),
        kernel_seconds=native.timings,
    )
    training.begin()
    return training


@contextmanager
def recorded_progress(training: Training) -> Iterator[Tuple[TrainingProgress, List[str]]]:
    """Yield a progress that writes to a file, and a list of the lines after the block."""
    lines: List[str] = []
    with tempfile.TemporaryFile("w+") as file:  # a pipe that nobody reads is full at 64 KiB
        reporter = EventWriter(file.fileno())
        yield (
            TrainingProgress(reporter, training.schedule, training.timeline.clock, training.step),
            lines,
        )
        file.seek(0)
        lines.extend(file.read().splitlines())
