"""Event files for TensorBoard, one folder a job."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from ipulse.client.jobs.arrays import arrays_in
from ipulse.client.jobs.spikes import SampleSpikes, sample_in
from ipulse.optional_modules import optional_module
from ipulse_core import strict_json

from .names import named_values
from .record import JobRecord, MetricPoint

PURPOSE = "the export to TensorBoard"
_FLUSH_SECONDS = 1
_SUFFIX = ".ipulse"  # ends the names of our event files


def write_events(record: JobRecord, to: Path, read: Callable[[str], bytes]) -> Path:
    """Write a job's folder: scalars by step with their times, HParams, weights, spikes.

    A repeat replaces the event files of the job and no others. Raises MissingDependency.
    """
    with EventFile(record, to) as file:
        file.add_points(record.points)
        file.add_results(record, read)
    return file.folder


class EventFile:
    """The event file of a job, in a folder of its own; it replaces those of earlier exports."""

    def __init__(self, record: JobRecord, to: Path) -> None:
        """Begin the file with the HParams. Raises MissingDependency."""
        module = optional_module("tensorboardX", PURPOSE, "tensorboard")
        self.folder = to / record.folder_name
        self.last_step = 0
        for former in self.folder.glob(f"events.out.tfevents.*{_SUFFIX}"):
            former.unlink()
        self._writer = module.SummaryWriter(
            str(self.folder), filename_suffix=_SUFFIX, flush_secs=_FLUSH_SECONDS
        )
        _add_hyperparameters(self._writer, record)

    def __enter__(self) -> EventFile:
        return self

    def __exit__(self, *error: object) -> None:
        self._writer.close()

    def add_points(self, points: Iterable[MetricPoint]) -> None:
        """Add scalars; they are on the disk within seconds."""
        for point in points:
            for name, value in named_values(point):
                time = point.time.timestamp()
                self._writer.add_scalar(name, value, global_step=point.step, walltime=time)
            self.last_step = max(self.last_step, point.step)

    def add_results(self, record: JobRecord, read: Callable[[str], bytes]) -> None:
        """Add the final metrics, weights and spikes of a job that has ended."""
        end = record.finished_at
        if end is not None:
            for name, value in record.summary.items():
                tag, time = f"final/{name}", end.timestamp()
                self._writer.add_scalar(tag, value, global_step=self.last_step, walltime=time)
        names = {artifact.name for artifact in record.artifacts}
        at: dict[str, Any] = {
            "global_step": self.last_step,
            "walltime": None if end is None else end.timestamp(),
        }
        if "weights.npz" in names:
            for name, array in arrays_in(read("weights.npz")).items():
                self._writer.add_histogram(f"weights/{name}", array, **at)
        if "spikes.json" in names:
            for name, image in rasters(sample_in(strict_json.loads(read("spikes.json")), 0)):
                self._writer.add_image(f"spikes/{name}", image, dataformats="HW", **at)


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
