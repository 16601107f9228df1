"""The handle of a job for asyncio; the handle for ordinary programs runs the same coroutines."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any, Literal

from ipulse.client import Artifact, Job
from ipulse.client.client_base import ClientBase
from ipulse.client.location import PathLike
from ipulse.curve_choices import Axis, Scope
from ipulse.experiment import Experiment
from ipulse.handles.optional import data_frame
from ipulse.log_levels import levels_from
from ipulse_core import strict_json
from ipulse_core.errors import Conflict
from ipulse_core.pva.report import Report

from . import arrays, metrics
from .failures import JobFailed
from .job_profile import JobProfile
from .logs import LogLine
from .metrics import BestEpoch
from .progress import ProgressLines
from .snapshot import JobSnapshot
from .spikes import SampleSpikes, sample_in

LAST_LINES = 10  # of the log, in the error of a failed job
_RECENT_EVENTS = 500
_PROGRESS_SECONDS = 2.5


class AsyncJobHandle(JobSnapshot):
    """A job: the methods are those of JobHandle, awaited."""

    def __init__(self, calls: ClientBase, job: Job) -> None:
        super().__init__(calls.url, job)
        self._calls = calls

    async def refresh(self) -> AsyncJobHandle:
        """Ask the service for the present state; returns the handle itself."""
        self._job = await self._calls.get(self.id)
        return self

    async def wait(self, timeout: float | None = None, progress: bool = False) -> AsyncJobHandle:
        """Wait until the job has succeeded; see JobHandle.wait."""
        if progress:
            await self._wait_with_progress(timeout)
        else:
            self._job = await self._calls.wait(self.id, timeout)
        if not self._job.succeeded:
            raise JobFailed(self._job, await self._last_lines())
        return self

    async def _wait_with_progress(self, timeout: float | None) -> None:
        lines, after = ProgressLines(), 0
        left = float("inf") if timeout is None else timeout
        with lines:
            while True:
                pause = min(_PROGRESS_SECONDS, left)
                try:
                    self._job = await self._calls.wait(self.id, pause)
                except TimeoutError:
                    left -= pause
                async for event in self._calls.events(self.id, after):
                    lines.show(event)
                    after = event.seq
                if self._job.state.is_terminal:
                    return
                if left <= 0:
                    raise TimeoutError(f"job {self.id} has not ended after {timeout:g} s")

    async def _last_lines(self) -> list[LogLine]:
        after = max(0, int(self._job.json.get("last_seq", 0)) - _RECENT_EVENTS)
        events = self._calls.events(self.id, after, ["log"])
        return [LogLine.of_event(event) async for event in events][-LAST_LINES:]

    async def spec(self) -> dict[str, Any]:
        """Return the spec with all defaults, as JSON."""
        if "spec" not in self._job.json:  # a job of a list
            await self.refresh()
        spec: dict[str, Any] = self._job.json["spec"]
        return spec

    async def experiment(self) -> Experiment:
        """Return the spec as an Experiment."""
        return Experiment.from_spec(await self.spec())

    async def metrics(
        self,
        *names: str,
        scope: Scope = "epoch",
        x: Axis | None = None,
        as_: Literal["frame", "columns"] = "frame",
    ) -> Any:
        """Return the metrics with these names, or all; see JobHandle.metrics."""
        columns = await metrics.read_columns(self._calls, self.id, names, scope, x)
        return columns if as_ == "columns" else data_frame(columns, next(iter(columns)))

    async def follow(self, *names: str) -> AsyncGenerator[dict[str, Any], None]:
        """Yield every epoch as it ends: its number as `epoch`, and these metrics, or all."""
        async for event in self._calls.watch(self.id):
            if event.kind == "metric" and event.fields.get("scope") == "epoch":
                values = event.fields["values"]
                chosen = {name: values.get(name) for name in names} if names else values
                yield {"epoch": event.fields["epoch"], **chosen}

    async def best(self, metric: str | None = None) -> BestEpoch:
        """Return the epoch in which a metric was best; see JobHandle.best."""
        names = [] if metric is None else [metric]
        columns = await metrics.read_columns(self._calls, self.id, names, "epoch", None)
        return metrics.best_epoch(columns, metric or metrics.chooser(columns))

    async def logs(self, level: str | None = None) -> list[LogLine]:
        """Return the log, or the lines of this level and of more severe ones."""
        levels = levels_from(level)
        events = self._calls.events(self.id, 0, ["log"])
        lines = [LogLine.of_event(event) async for event in events]
        return [line for line in lines if line.level in levels]

    async def files(self) -> list[Artifact]:
        """Return the files of the job's official attempt."""
        return await self._calls.artifacts(self.id)

    async def download(self, to: PathLike, roles: Sequence[str] | None = None) -> list[Path]:
        """Download all files to a folder, or those of some roles."""
        return await self._calls.download(self.id, to, roles)

    async def download_file(self, name: str, to: PathLike) -> Path:
        """Download one file to a folder. Raises NotFound."""
        return await self._calls.download_file(self.id, name, to)

    async def read_file(self, name: str) -> bytes:
        """Return the content of a file. Raises NotFound."""
        with tempfile.TemporaryDirectory(prefix="ipulse-") as folder:
            return (await self._calls.download_file(self.id, name, folder)).read_bytes()

    async def weights(self) -> dict[str, Any]:
        """Return everything that was trained: NumPy arrays by name. Raises NotFound."""
        return arrays.arrays_in(await self.read_file("weights.npz"))

    async def network(self, kind: Literal["keras", "nir"] = "keras", **options: Any) -> Any:
        """Return the trained network; see JobHandle.network."""
        if kind == "nir":
            return arrays.nir_graph(await self.read_file("network.nir"))
        profile = await self.profile()
        return arrays.keras_network(
            await self.spec(), await self.weights(), profile.capacities, options
        )

    async def profile(self) -> JobProfile:
        """Return where time, spikes and memory went. Raises NotFound before it exists."""
        return JobProfile(await self._calls.profile(self.id))

    async def tile_report(self) -> Report:
        """Return the profile of the tiles; see JobHandle.tile_report."""
        return Report(strict_json.loads(await self.read_file("poplar_profile.json")))

    async def continue_training(self, epochs: int) -> AsyncJobHandle:
        """Train for more epochs as a new job, from the last checkpoint; returns its handle."""
        return AsyncJobHandle(self._calls, await self._calls.continue_training(self.id, epochs))

    async def spikes(self, sample: int = 0) -> SampleSpikes:
        """Return the spikes of a stored held-out sample. Raises NotFound."""
        return sample_in(strict_json.loads(await self.read_file("spikes.json")), sample)

    async def stop(self) -> AsyncJobHandle:
        """End the training after its present step and keep the results. Raises Conflict."""
        self._job = await self._calls.finish(self.id)
        return self

    async def cancel(self) -> AsyncJobHandle:
        """Cancel the job; returns the handle itself."""
        self._job = await self._calls.cancel(self.id)
        return self

    async def pause(self) -> AsyncJobHandle:
        """Pause the job; a running one writes a checkpoint first. Raises Conflict."""
        self._job = await self._calls.pause(self.id)
        return self

    async def resume(self) -> AsyncJobHandle:
        """Resume a paused job from its last checkpoint. Raises Conflict."""
        self._job = await self._calls.resume(self.id)
        return self

    async def retry(self) -> AsyncJobHandle:
        """Queue the failed job again under its id; see JobHandle.retry."""
        self._job = await self._calls.retry(self.id)
        return self

    async def delete(self) -> None:
        """Delete the job with its files. Raises Conflict before it has ended."""
        await self._calls.delete(self.id)

    async def edit(self, **attributes: Any) -> AsyncJobHandle:
        """Change name, notes, tags, group or priority, as Client.edit does."""
        self._job = await self._calls.edit(self.id, **attributes)
        return self

    def __reduce__(self) -> Any:
        raise Conflict(
            "the handle of an asynchronous client belongs to its event loop: keep its id"
        )
