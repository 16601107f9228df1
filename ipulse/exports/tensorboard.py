"""Event files for TensorBoard, one folder a job."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ipulse.handles.arrays import arrays_in
from ipulse.handles.optional import optional_module

from .names import named_values
from .record import JobRecord

PURPOSE = "the export to TensorBoard"
_SUFFIX = ".ipulse"  # ends the names of our event files


def write_events(record: JobRecord, to: Path, read: Callable[[str], bytes]) -> Path:
    """Write a job's folder: scalars by step with their times, HParams, histograms of the weights.

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
        if any(artifact.name == "weights.npz" for artifact in record.artifacts):
            for name, array in arrays_in(read("weights.npz")).items():
                when = None if end is None else end.timestamp()
                writer.add_histogram(f"weights/{name}", array, global_step=last, walltime=when)
    finally:
        writer.close()
    return folder


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
