"""The handle of a job."""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import AsyncGenerator, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import httpx

from ipulse.client.jobs import arrays, calls
from ipulse.client.jobs.downloading import Download, check_names, is_downloaded
from ipulse.client.jobs.failures import JobFailed
from ipulse.client.jobs.job_profile import JobProfile
from ipulse.client.jobs.logs import LogLine
from ipulse.client.jobs.metrics import BestEpoch, best_epoch, chooser
from ipulse.client.jobs.progress import ProgressLines
from ipulse.client.jobs.resources import Artifact, Job, JobEvent
from ipulse.client.jobs.spikes import SampleSpikes, sample_in
from ipulse.client.jobs.watching import SILENCE_SECONDS, Watch
from ipulse.client.location import PathLike
from ipulse.client.only_async import AsyncJobHandleBase, blocking_property
from ipulse.client.transport.connection import WaitDeadline
from ipulse.client.transport.retries import FOLLOWING, RetryPolicy
from ipulse.curve_choices import Axis, Scope
from ipulse.log_levels import levels_from
from ipulse.optional_modules import data_frame
from ipulse_core import strict_json
from ipulse_core.errors import NotFound

from .metrics import read_columns

if TYPE_CHECKING:
    from ipulse.experiment import Experiment
    from ipulse_core.pva.report import Report

    from .connection import AsyncConnection

LAST_LINES = 10  # of the log, in the error of a failed job
_RECENT_EVENTS = 500
_PROGRESS_SECONDS = 2.5


class AsyncJobHandle(AsyncJobHandleBase):
    """A job of a connection; its attributes are those of when the service was last asked."""

    def __init__(self, connection: AsyncConnection, job: Job) -> None:
        super().__init__(connection.url, job)
        self._connection = connection

    async def refresh(self) -> AsyncJobHandle:
        """Ask the service for the present state; returns the handle itself."""
        self._job = await self._connection._get_job(self.id)
        return self

    async def wait(
        self, timeout: float | None = None, progress: bool = False, check: bool = True
    ) -> AsyncJobHandle:
        """Wait until the job has succeeded; returns the handle itself.

        Args:
            timeout: Seconds after which TimeoutError is raised.
            progress: Whether to show phases and epochs on standard error.
            check: Whether to raise JobFailed, with the reason and the last lines of the log, if the
                job failed or was cancelled; else `state` says how it ended.
        """
        if progress:
            await self._wait_with_progress(timeout)
        else:
            await self._wait_for_end(timeout)
        if check and not self.succeeded:
            raise JobFailed(self._job, await self._last_lines())
        return self

    async def _wait_for_end(self, timeout: float | None) -> None:
        connection = self._connection
        deadline = WaitDeadline(self.id, timeout, connection._timeout)
        while True:
            call = calls.get_ended(self.id, deadline.answer_seconds())
            self._job = await connection._send(call, FOLLOWING * connection._retries, deadline)
            if self.state.is_terminal:
                return
            await connection._transport.sleep(deadline.pause())

    async def _wait_with_progress(self, timeout: float | None) -> None:
        lines, after = ProgressLines(), 0
        left = float("inf") if timeout is None else timeout
        with lines:
            while True:
                pause = min(_PROGRESS_SECONDS, left)
                try:
                    await self._wait_for_end(pause)
                except TimeoutError:
                    left -= pause
                async for event in self.events(after):
                    lines.show(event)
                    after = event.seq
                if self.state.is_terminal:
                    return
                if left <= 0:
                    raise TimeoutError(f"job {self.id} has not ended after {timeout:g} s")

    async def _last_lines(self) -> list[LogLine]:
        after = max(0, int(self._job.json.get("last_seq", 0)) - _RECENT_EVENTS)
        events = self.events(after, ["log"])
        return [LogLine.of_event(event) async for event in events][-LAST_LINES:]

    async def events(
        self, after: int = 0, kinds: Sequence[str] = ()
    ) -> AsyncGenerator[JobEvent, None]:
        """Yield the events so far, after number `after`; `kinds` selects some kinds."""
        while True:
            page = await self._connection._send(calls.events(self.id, after, kinds))
            for event in page.events:
                yield event
            if page.end or page.next_after <= after:
                return
            after = page.next_after

    async def watch(self, after: int = 0) -> AsyncGenerator[JobEvent, None]:
        """Yield events as they happen until the job has ended; reconnects without gaps."""
        connection = self._connection
        retries = RetryPolicy(connection.url, FOLLOWING * connection._retries)
        watch = Watch(self.id, after, retries)
        while not watch.has_ended():
            error: httpx.TransportError | None = None
            delay: float | None = None
            try:
                async with connection._transport.stream(
                    watch.path, raw=False, headers=watch.headers, timeout=SILENCE_SECONDS
                ) as (response, chunks):
                    delay = watch.opened(response)
                    if delay is None:
                        async for chunk in chunks:
                            for event in watch.feed(chunk):
                                yield event
                            if watch.has_ended():
                                return
            except httpx.TransportError as caught:
                error = caught
            await connection._transport.sleep(watch.interrupted(error) if delay is None else delay)

    @blocking_property
    async def spec(self) -> dict[str, Any]:
        """The spec with all defaults, as JSON."""
        if "spec" not in self._job.json:  # a job of a list
            await self.refresh()
        spec: dict[str, Any] = self._job.json["spec"]
        return spec

    @blocking_property
    async def experiment(self) -> Experiment:
        """The spec as an Experiment, to change and submit again."""
        from ipulse.experiment import Experiment

        return Experiment.from_spec(await self.spec())

    async def spec_text(
        self, form: Literal["resolved", "submitted", "version_2", "brief"] = "resolved"
    ) -> str:
        """Return the spec as text: with every default, without them, or as it was submitted.

        Raises NotFound if the service has not kept the submitted text.
        """
        return await self._connection._send(calls.spec_text(self.id, form))

    async def metrics(
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
        columns = await read_columns(self._connection, self.id, names, scope, x)
        return columns if as_ == "columns" else data_frame(columns, next(iter(columns)))

    async def follow(self, *names: str) -> AsyncGenerator[dict[str, Any], None]:
        """Yield every epoch as it ends: its number as `epoch`, and these metrics, or all."""
        async for event in self.watch():
            if event.kind == "metric" and event.fields.get("scope") == "epoch":
                values = event.fields["values"]
                chosen = {name: values.get(name) for name in names} if names else values
                yield {"epoch": event.fields["epoch"], **chosen}

    async def best(self, metric: str | None = None) -> BestEpoch:
        """Return the epoch in which a metric was best.

        By default that is validation_accuracy where the job has it, else test_accuracy; of a
        regression the mean absolute error. Raises NotFound if there is no epoch yet.
        """
        names = [] if metric is None else [metric]
        columns = await read_columns(self._connection, self.id, names, "epoch", None)
        return best_epoch(columns, metric or chooser(columns))

    async def logs(self, level: str | None = None) -> list[LogLine]:
        """Return the log, or the lines of this level and of more severe ones."""
        levels = levels_from(level)
        lines = [LogLine.of_event(event) async for event in self.events(0, ["log"])]
        return [line for line in lines if line.level in levels]

    async def artifacts(self) -> list[Artifact]:
        """Return the files of the job's official attempt."""
        return await self._connection._send(calls.artifacts(self.id))

    async def download(self, to: PathLike, roles: Collection[str] | None = None) -> list[Path]:
        """Download the files to a folder, all of them or those of some roles.

        Each file is verified by its SHA-256 before it gets its name. A file that exists already
        is not downloaded again. Raises RemoteError for content with another digest.
        """
        listed = await self.artifacts()
        chosen = [file for file in listed if roles is None or file.role in roles]
        check_names(chosen)
        folder = Path(to)
        if chosen:
            folder.mkdir(parents=True, exist_ok=True)
        return [await self._download(artifact, folder) for artifact in chosen]

    async def download_file(self, name: str, to: PathLike) -> Path:
        """Download one of the files to a folder, as `download` does. Raises NotFound."""
        listed = await self.artifacts()
        check_names(listed)
        for artifact in listed:
            if artifact.name == name:
                Path(to).mkdir(parents=True, exist_ok=True)
                return await self._download(artifact, Path(to))
        names = ", ".join(artifact.name for artifact in listed) or "none yet"
        raise NotFound(f"the job has no file {name[:100]!r}; its files: {names}")

    async def _download(self, artifact: Artifact, folder: Path) -> Path:
        if is_downloaded(artifact, folder):
            return folder / artifact.name
        connection = self._connection
        retries = RetryPolicy(connection.url, FOLLOWING * connection._retries)
        with Download(self.id, artifact, folder, retries) as download:
            while not download.complete:
                error: httpx.TransportError | None = None
                delay: float | None = None
                try:
                    async with connection._transport.stream(
                        # A redirect to an object store; httpx does not send it the token.
                        download.url_path,
                        raw=True,
                        headers=download.headers,
                        follow_redirects=True,
                    ) as (response, chunks):
                        delay = download.opened(response)
                        if delay is None:
                            async for chunk in chunks:
                                download.write(chunk)
                except httpx.TransportError as caught:
                    error = caught
                if not download.complete:
                    pause = download.interrupted(error) if delay is None else delay
                    await connection._transport.sleep(pause)
            return download.finish()

    async def read_file(self, name: str) -> bytes:
        """Return the content of a file. Raises NotFound."""
        with tempfile.TemporaryDirectory(prefix="ipulse-") as folder:
            return (await self.download_file(name, folder)).read_bytes()

    async def weights(self) -> dict[str, Any]:
        """Return everything that was trained: NumPy arrays by name, such as layer_1."""
        return arrays.arrays_in(await self.read_file("weights.npz"))

    async def network(self, kind: Literal["keras", "nir"] = "keras", **options: Any) -> Any:
        """Return the trained network.

        Args:
            kind: keras returns ipulse_ops.keras.MultiLIF with the weights set, which runs on this
                machine; nir returns a nir.NIRGraph.
            options: Arguments of MultiLIF, such as threads or return_membranes.
        """
        if kind == "nir":
            return arrays.nir_graph(await self.read_file("network.nir"))
        profile = await self.profile()
        spec, weights = await self.spec(), await self.weights()
        return arrays.keras_network(spec, weights, profile.capacities, options)

    async def profile(self) -> JobProfile:
        """Return where time, spikes and memory went. Raises NotFound before it exists."""
        return JobProfile(await self._connection._send(calls.profile(self.id)))

    async def tile_report(self) -> Report:
        """Return the profile of the Poplar program, with the names of Graphcore's libpva.

        Only jobs on emulator and IPU have one. Raises NotFound.
        """
        from ipulse_core.pva.report import Report  # slow, and of few programs

        return Report(strict_json.loads(await self.read_file("poplar_profile.json")))

    async def spikes(self, sample: int = 0) -> SampleSpikes:
        """Return the spikes of a test sample that the job stored, the first being 0."""
        return sample_in(strict_json.loads(await self.read_file("spikes.json")), sample)

    async def continue_training(
        self, epochs: int, idempotency_key: str | None = None
    ) -> AsyncJobHandle:
        """Train for more epochs as a new job, from the last checkpoint; returns its handle.

        The result is that of one longer training, with a constant learning rate on one kind of
        device. Raises Conflict for a job that has not ended or has no checkpoint.
        """
        key = str(uuid.uuid4()) if idempotency_key is None else idempotency_key
        more = await self._connection._send(calls.continue_training(self.id, epochs, key))
        return AsyncJobHandle(self._connection, more)

    async def stop(self) -> AsyncJobHandle:
        """End the training after its present step and keep the results; returns the handle itself.

        Repeated, or after the job's end, this changes nothing. Raises Conflict for a job that no
        agent holds.
        """
        return await self._change("finish")

    async def cancel(self) -> AsyncJobHandle:
        """Cancel the job, if it has not ended; returns the handle itself."""
        return await self._change("cancel")

    async def pause(self) -> AsyncJobHandle:
        """Pause the job; a running one writes a checkpoint first. Raises Conflict."""
        return await self._change("pause")

    async def resume(self) -> AsyncJobHandle:
        """Resume a paused job from its last checkpoint. Raises Conflict."""
        return await self._change("resume")

    async def retry(self) -> AsyncJobHandle:
        """Queue the failed job again under its id; it resumes from its last checkpoint, if any.

        Its events continue, attempts and limits of time count anew, and `wait` waits for the new
        end. Jobs that were cancelled only because of its failure wait for it again, and its trial
        of a sweep runs again. A job that has not ended does not change. Raises Conflict for one
        that has succeeded or was cancelled, InvalidInput if no agent can run it any more.
        """
        return await self._change("retry")

    async def _change(self, verb: str) -> AsyncJobHandle:
        self._job = await self._connection._send(calls.change_state(self.id, verb))
        return self

    async def delete(self, *, if_unchanged: bool = False) -> None:
        """Delete the job with its files. Raises NotPermitted, and Conflict before it has ended.

        With `if_unchanged` Conflict, too, if the job has changed since `connection.job` or
        `refresh` read it.
        """
        await self._connection._send(calls.delete(self.id, self._job if if_unchanged else None))

    async def edit(
        self,
        *,
        name: str | None = None,
        notes: str | None = None,
        tags: Sequence[str] | None = None,
        add_tags: Sequence[str] = (),
        remove_tags: Sequence[str] = (),
        group: str | None = None,
        priority: int | None = None,
    ) -> AsyncJobHandle:
        """Change attributes; those that are not given stay as they are. Returns the handle itself.

        `tags` replaces all tags, an empty `group` means none. Raises InvalidInput, and Conflict for
        the priority of a job that has ended.
        """
        changes = {
            "name": name,
            "notes": notes,
            "tags": None if tags is None else [*tags],
            "add_tags": [*add_tags] or None,
            "remove_tags": [*remove_tags] or None,
            "group": group,
            "priority": priority,
        }
        self._job = await self._connection._send(calls.edit(self.id, changes))
        return self
