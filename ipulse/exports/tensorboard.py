"""Event files for TensorBoard, one folder a job."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ipulse.handles.jobs.arrays import arrays_in
from ipulse.handles.jobs.spikes import SampleSpikes, sample_in
from ipulse.handles.optional import optional_module
from ipulse_core import strict_json

from .names import named_values
from .record import JobRecord

PURPOSE = "the export to TensorBoard"
_SUFFIX = ".ipulse"  # ends the names of our event files


def write_events(record: JobRecord, to: Path, read: Callable[[str], bytes]) -> Path:
    """Write a job's folder: scalars by step with their times, HParams, weights, spikes.

    A repeat replaces the event files of the job and no others. Raises MissingDependency.
    """
    module = optional_module("tensorboardX", PURPOSE, "tensorboard")
    folder = to / record.folder_name
    for former in folder.glob(f"events.out.tfevents.*{_SUFFIX}"):
        former.unlink()
    writer = module.SummaryWriter(str(folder), filename_suffix=_SUFFIX)
    try:
        _add_hyperparameters(writer, record)
        for point in record.points:
            for name, value in named_values(point):
                time = point.time.timestamp()
                writer.add_scalar(name, value, global_step=point.step, walltime=time)
        end = record.finished_at
        last = record.points[-1].step if record.points else 0
        if end is not None:
            for name, value in record.summary.items():
                tag = f"final/{name}"
                writer.add_scalar(tag, value, global_step=last, walltime=end.timestamp())
        names = {artifact.name for artifact in record.artifacts}
        when = None if end is None else end.timestamp()
        if "weights.npz" in names:
            for name, array in arrays_in(read("weights.npz")).items():
                writer.add_histogram(f"weights/{name}", array, global_step=last, walltime=when)
        if "spikes.json" in names:
            for name, image in rasters(sample_in(strict_json.loads(read("spikes.json")), 0)):
                tag = f"spikes/{name}"
                writer.add_image(tag, image, global_step=last, walltime=when, dataformats="HW")
    finally:
        writer.close()
    return folder


def rasters(sample: SampleSpikes) -> Iterator[tuple[str, Any]]:
    """Yield an image per layer: time to the right, a row per neuron, bright where it spikes."""
    numpy = optional_module("numpy", PURPOSE, "tensorboard")
    for name, (steps, neurons) in sample.layers.items():
        image = numpy.zeros((max(neurons, default=0) + 1, sample.steps), numpy.uint8)
        image[neurons, steps] = 255
        yield name, image


def _add_hyperparameters(writer: Any, record: JobRecord) -> None:
    """Add HParams to the job's own folder; SummaryWriter.add_hparams would make a child of it."""
    hparams = optional_module("tensorboardX.summary", PURPOSE, "tensorboard").hparams
    settings = {
        name: value if isinstance(value, (bool, int, float)) else str(value)
        for name, value in record.settings.items()
        if value is not None
    }
    metrics = {f"final/{name}": value for name, value in record.summary.items()}
    for summary in hparams(settings, metrics):
        writer._get_file_writer().add_summary(summary, 0, record.started_at.timestamp())
