"""The handle of a job."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ipulse.client import Job
from ipulse.client.location import PathLike
from ipulse.client.transport.transports import finished, stepped
from ipulse.curve_choices import Axis, Scope
from ipulse.experiment import Experiment
from ipulse.handles.notebook.card import card_html
from ipulse_core.errors import IPUlseError
from ipulse_core.pva.report import Report

from .async_job import AsyncJobHandle
from .files import JobFiles
from .job_profile import JobProfile
from .logs import LogLine
from .metrics import BestEpoch
from .snapshot import JobSnapshot
from .spikes import SampleSpikes

if TYPE_CHECKING:
    from ipulse.handles.connection import Connection


class JobHandle(JobSnapshot):
    """A job of a connection; its attributes are those of when the service was last asked.

    Handles of the same job are equal. A handle can be pickled unless the connection was made with
    a token as text, which never leaves the process.
    """

    def __init__(self, connection: Connection, job: Job) -> None:
        self._connection = connection
        self._handle = AsyncJobHandle(connection.calls, job)
        super().__init__(connection.url, job)

    @property
    def _job(self) -> Job:
        return self._handle._job

    @_job.setter
    def _job(self, job: Job) -> None:
        self._handle._job = job

    def refresh(self) -> JobHandle:
        """Ask the service for the present state; returns the handle itself."""
        finished(self._handle.refresh())
        return self

    def wait(self, timeout: float | None = None, progress: bool = False) -> JobHandle:
        """Wait until the job has succeeded; returns the handle itself.

        Args:
            timeout: Seconds after which TimeoutError is raised.
            progress: Whether to show phases and epochs on standard error.

        Raises JobFailed, with the reason and the last lines of the log, if the job failed or was
        cancelled.
        """
        finished(self._handle.wait(timeout, progress))
        return self

    @property
    def spec(self) -> dict[str, Any]:
        """The spec with all defaults, as JSON."""
        return finished(self._handle.spec())

    @property
    def experiment(self) -> Experiment:
        """The spec as an Experiment, to change and submit again."""
        return finished(self._handle.experiment())

    def metrics(
        self,
        *names: str,
        scope: Scope = "epoch",
        x: Axis | None = None,
        as_: Literal["frame", "columns"] = "frame",
    ) -> Any:
        """Return metrics as a pandas DataFrame with one row per epoch or logged step.

        Args:
            names: The metrics; without names all.
            scope: epoch (means of epochs and test metrics) or step (metrics of batches).
            x: The index: epoch, step, samples, training_time (seconds without pauses) or
                wall_time (Unix seconds); by default the scope.
            as_: columns returns a dict of lists, for which pandas is not needed.
        """
        return finished(self._handle.metrics(*names, scope=scope, x=x, as_=as_))

    def follow(self, *names: str) -> Iterator[dict[str, Any]]:
        """Yield every epoch as it ends: its number as `epoch`, and these metrics, or all."""
        return stepped(self._handle.follow(*names))

    def best(self, metric: str | None = None) -> BestEpoch:
        """Return the epoch in which a metric was best.

        By default that is validation_accuracy where the job has it, else test_accuracy; of a
        regression the mean absolute error. Raises NotFound if there is no epoch yet.
        """
        return finished(self._handle.best(metric))

    def logs(self, level: str | None = None) -> list[LogLine]:
        """Return the log, or the lines of this level and of more severe ones."""
        return finished(self._handle.logs(level))

    @property
    def files(self) -> JobFiles:
        """The files of the job's official attempt, by name."""
        return JobFiles(self, finished(self._handle.files()))

    def download(self, to: PathLike, roles: Sequence[str] | None = None) -> list[Path]:
        """Download all files to a folder, or those of some roles."""
        return finished(self._handle.download(to, roles))

    def download_file(self, name: str, to: PathLike) -> Path:
        """Download one file to a folder. Raises NotFound."""
        return finished(self._handle.download_file(name, to))

    def read_file(self, name: str) -> bytes:
        """Return the content of a file. Raises NotFound."""
        return finished(self._handle.read_file(name))

    def weights(self) -> dict[str, Any]:
        """Return everything that was trained: NumPy arrays by name, such as layer_1."""
        return finished(self._handle.weights())

    def network(self, kind: Literal["keras", "nir"] = "keras", **options: Any) -> Any:
        """Return the trained network.

        Args:
            kind: keras returns ipulse_ops.keras.MultiLIF with the weights set, which runs on this
                machine; nir returns a nir.NIRGraph.
            options: Arguments of MultiLIF, such as threads or return_membranes.
        """
        return finished(self._handle.network(kind, **options))

    def profile(self) -> JobProfile:
        """Return where time, spikes and memory went. Raises NotFound before it exists."""
        return finished(self._handle.profile())

    def tile_report(self) -> Report:
        """Return the profile of the Poplar program, with the names of Graphcore's libpva.

        Only jobs on emulator and IPU have one. Raises NotFound.
        """
        return finished(self._handle.tile_report())

    def continue_training(self, epochs: int) -> JobHandle:
        """Train for more epochs as a new job, from the last checkpoint; returns its handle.

        The result is that of one longer training, with a constant learning rate on one kind of
        device. Raises Conflict for a job that has not ended or has no checkpoint.
        """
        more = finished(self._handle.continue_training(epochs))
        return JobHandle(self._connection, more._job)

    def spikes(self, sample: int = 0) -> SampleSpikes:
        """Return the spikes of a held-out sample that the job stored, the first being 0."""
        return finished(self._handle.spikes(sample))

    def stop(self) -> JobHandle:
        """End the training after its present step and keep the results. Raises Conflict."""
        finished(self._handle.stop())
        return self

    def cancel(self) -> JobHandle:
        """Cancel the job; returns the handle itself."""
        finished(self._handle.cancel())
        return self

    def pause(self) -> JobHandle:
        """Pause the job; a running one writes a checkpoint first. Raises Conflict."""
        finished(self._handle.pause())
        return self

    def resume(self) -> JobHandle:
        """Resume a paused job from its last checkpoint. Raises Conflict."""
        finished(self._handle.resume())
        return self

    def retry(self) -> JobHandle:
        """Queue the failed job again under its id; it resumes from its last checkpoint, if any.

        Attempts and limits of time count anew; `wait` waits for the new end. Raises Conflict for a
        job that has succeeded or was cancelled.
        """
        finished(self._handle.retry())
        return self

    def delete(self) -> None:
        """Delete the job with its files. Raises Conflict before it has ended."""
        finished(self._handle.delete())

    def edit(
        self,
        *,
        name: str | None = None,
        notes: str | None = None,
        tags: Sequence[str] | None = None,
        add_tags: Sequence[str] = (),
        remove_tags: Sequence[str] = (),
        group: str | None = None,
        priority: int | None = None,
    ) -> JobHandle:
        """Change attributes; `tags` replaces all of them, an empty `group` means none."""
        changed = self._handle.edit(
            name=name,
            notes=notes,
            tags=tags,
            add_tags=add_tags,
            remove_tags=remove_tags,
            group=group,
            priority=priority,
        )
        finished(changed)
        return self

    def live(self) -> Any:
        """Return a widget that shows phase, curves and log until the job has ended.

        It needs a notebook and the extra `notebook`. A saved notebook keeps the job's card.
        """
        from ipulse.handles.notebook.live import live_view

        return live_view(self)

    def _repr_html_(self) -> str:
        """Return the card that notebooks show."""
        for metric in ("test_accuracy", "test_loss", "loss"):
            with suppress(IPUlseError):
                curve = self.metrics(metric, as_="columns")[metric]
                return card_html(self, [value for value in curve if value is not None], metric)
        return card_html(self, [], "")

    def __reduce__(self) -> Any:
        return JobHandle, (self._connection, self._job)
