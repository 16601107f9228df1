"""The calls of both clients, over a blocking or an asynchronous transport.

Files are written between awaits, one block at a time, which is fast on a local disk.
"""

from __future__ import annotations

import builtins
import uuid
from collections.abc import AsyncGenerator, Collection, Sequence
from pathlib import Path
from typing import Any, Literal

import httpx

from ipulse_core.errors import NotFound

from . import calls
from .batches import BatchResult, JobSearch, JobSelection
from .calls import Spec
from .comparison import compare as compare_jobs
from .connection import WaitDeadline, remember
from .curves import MetricCurve
from .curves import curves as metric_curves
from .data_sets import DataSets
from .downloading import Download, check_names, is_downloaded
from .job_reference import find_job
from .location import PathLike
from .resources import Artifact, Job, JobEvent, SubmissionPlan, ValidSpec
from .retries import FOLLOWING, RetryPolicy
from .sweeping import Sweeping
from .transports import Transport
from .watching import SILENCE_SECONDS, Watch


class ClientBase(DataSets, Sweeping):
    """All calls of both clients; errors are those of ipulse_core.errors."""

    def __init__(self, url: str, transport: Transport, timeout: float, retries: int) -> None:
        super().__init__(url, transport, retries)
        self._timeout = timeout
        self._known: dict[str, Job] = {}

    async def ready(self) -> None:
        """Return if the service can process jobs. Raises Unavailable otherwise."""
        await self._send(calls.ready())

    async def validate(self, spec: Spec) -> ValidSpec:
        """Check a spec; see Client.validate."""
        return await self._send(calls.validate(spec))

    async def plan(self, spec: Spec, priority: int = 0) -> SubmissionPlan:
        """Check a spec and return when and where it would run; see Client.plan."""
        return await self._send(calls.plan(spec, priority))

    async def submit(
        self,
        spec: Spec,
        idempotency_key: str | None = None,
        *,
        priority: int | None = None,
        queue_seconds: int | None = None,
        run_seconds: int | None = None,
        total_seconds: int | None = None,
        tags: Sequence[str] = (),
        group: str | None = None,
        notes: str = "",
        start_from: str | None = None,
        after: Sequence[str] = (),
        start_mode: Literal["continue", "weights"] | None = None,
    ) -> Job:
        """Submit a job from a spec, a dict, or the path of a YAML or JSON file.

        Without an idempotency key a new one is made, so that a retry never starts a second job.
        Pass your own key to make repeated runs of your program safe, too. Jobs of a higher
        priority start first; a job that waits, runs or takes longer than its limit fails. Tags,
        group and notes (Markdown) are attributes of the job, and can be changed by `edit`.
        With `start_from`, the id of another job, it trains on from its checkpoint (continue: the
        same spec with more epochs) or begins with its weights. `after` has ids of jobs that must
        succeed before it is queued, or `ID:end`, `ID:failure`.
        Raises InvalidSpec, and InvalidInput for a key that is none.
        """
        options = {
            "priority": priority,
            "queue_seconds": queue_seconds,
            "run_seconds": run_seconds,
            "total_seconds": total_seconds,
            "tag": [*tags],
            "group": group,
            "notes": notes,
            "start_from": start_from,
            "start_mode": start_mode,
            "after": [*after],
        }
        key = str(uuid.uuid4()) if idempotency_key is None else idempotency_key
        return await self._send(calls.submit(spec, key, options))

    async def get(self, job_id: str) -> Job:
        """Return the job in its current state. Raises NotFound."""
        job = await self._send(calls.get(job_id, self._known.get(job_id)))
        remember(self._known, job)
        return job

    async def find_id(self, reference: str) -> str:
        """Return the full id of the job that a reference means; see Client.find_id."""
        return await find_job(self, reference)

    async def list(
        self,
        state: str | None = None,
        page_size: int = 100,
        id_prefix: str | None = None,
        *,
        query: str = "",
        sort: str = "",
        columns: Sequence[str] = (),
    ) -> AsyncGenerator[Job, None]:
        """Yield jobs, newest first and without their specs; pages are fetched as needed.

        `query` is in the search language, such as `state:succeeded test_accuracy>0.95`; `sort`
        names columns, such as `-test_accuracy,name`; `job.json["values"]` has the values of
        `columns`, such as `learning_rate`. Raises InvalidInput with the place in the query.
        """
        token, search = "", JobSearch(query, sort, columns)
        while True:
            page = await self._send(calls.list_jobs(state, page_size, token, id_prefix, search))
            for job in page.jobs:
                yield job
            token = page.next_page_token
            if not token:
                return

    async def count(self, query: str = "") -> int:
        """Return the number of jobs that a query finds. Raises InvalidInput."""
        search = JobSearch(query, count=True)
        page = await self._send(calls.list_jobs(None, 1, "", search=search))
        return page.total or 0

    async def cancel(self, job_id: str) -> Job:
        """Cancel the job; a job that has ended does not change. Raises NotFound."""
        return await self._send(calls.cancel(job_id))

    async def finish(self, job_id: str) -> Job:
        """End the training after its present step and keep its results, as `ipulse stop`.

        Repeated, or after the job's end, this changes nothing. Raises Conflict for a job that no
        agent holds, NotFound.
        """
        return await self._send(calls.finish(job_id))

    async def continue_training(
        self, job_id: str, epochs: int, idempotency_key: str | None = None
    ) -> Job:
        """Train a job that has ended for more epochs, as a new job from its last checkpoint.

        Raises Conflict for a job that runs or has no checkpoint, NotFound.
        """
        key = str(uuid.uuid4()) if idempotency_key is None else idempotency_key
        return await self._send(calls.continue_training(job_id, epochs, key))

    async def pause(self, job_id: str) -> Job:
        """Pause the job; a running job writes a checkpoint first. Raises Conflict, NotFound."""
        return await self._send(calls.pause(job_id))

    async def resume(self, job_id: str) -> Job:
        """Resume a paused job from its last checkpoint. Raises Conflict, NotFound."""
        return await self._send(calls.resume(job_id))

    async def delete(self, job_id: str) -> None:
        """Delete a job that has ended, with its files. Raises Conflict, NotFound."""
        await self._send(calls.delete(job_id))

    async def change_priority(self, job_id: str, priority: int) -> Job:
        """Change the priority of a job that has not ended. Raises Conflict, NotFound."""
        return await self.edit(job_id, priority=priority)

    async def edit(
        self,
        job_id: str,
        *,
        name: str | None = None,
        notes: str | None = None,
        tags: Sequence[str] | None = None,
        add_tags: Sequence[str] = (),
        remove_tags: Sequence[str] = (),
        group: str | None = None,
        priority: int | None = None,
    ) -> Job:
        """Change attributes of a job; those that are not given stay as they are.

        `tags` replace all tags of the job; an empty `group` takes it out of its group. Raises
        InvalidInput, Conflict for the priority of a job that has ended, and NotFound.
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
        return await self._send(calls.edit(job_id, changes))

    async def cancel_all(self, selection: JobSelection, dry_run: bool = False) -> BatchResult:
        """Cancel all jobs of a selection; with `dry_run` only count them."""
        return await self._change_all("cancel", selection, dry_run)

    async def delete_all(self, selection: JobSelection, dry_run: bool = False) -> BatchResult:
        """Delete all jobs of a selection that have ended; with `dry_run` only count them."""
        return await self._change_all("delete", selection, dry_run)

    async def pause_all(self, selection: JobSelection, dry_run: bool = False) -> BatchResult:
        """Pause all jobs of a selection; with `dry_run` only count them."""
        return await self._change_all("pause", selection, dry_run)

    async def finish_all(self, selection: JobSelection, dry_run: bool = False) -> BatchResult:
        """Finish all running jobs of a selection, see `finish`; with `dry_run` only count them."""
        return await self._change_all("finish", selection, dry_run)

    async def resume_all(self, selection: JobSelection, dry_run: bool = False) -> BatchResult:
        """Resume all paused jobs of a selection; with `dry_run` only count them."""
        return await self._change_all("resume", selection, dry_run)

    async def edit_all(
        self,
        selection: JobSelection,
        *,
        add_tags: Sequence[str] = (),
        remove_tags: Sequence[str] = (),
        group: str | None = None,
        priority: int | None = None,
        dry_run: bool = False,
    ) -> BatchResult:
        """Change tags, group or priority of all jobs of a selection, see `edit`."""
        changes = {
            "add_tags": [*add_tags],
            "remove_tags": [*remove_tags],
            "group": group,
            "priority": priority,
        }
        return await self._change_all("edit", selection, dry_run, changes)

    async def _change_all(
        self,
        verb: str,
        selection: JobSelection,
        dry_run: bool,
        changes: dict[str, Any] | None = None,
    ) -> BatchResult:
        total: BatchResult | None = None  # of as many requests as are needed
        while True:
            result = await self._send(calls.change_all(verb, selection, dry_run, changes))
            total = result if total is None else total.followed_by(result)
            if dry_run or not result.remaining:
                return total

    async def events(
        self, job_id: str, after: int = 0, kinds: Sequence[str] = ()
    ) -> AsyncGenerator[JobEvent, None]:
        """Yield the events so far, after number `after`; `kinds` selects some kinds."""
        while True:
            page = await self._send(calls.events(job_id, after, kinds))
            for event in page.events:
                yield event
            if page.end or page.next_after <= after:
                return
            after = page.next_after

    async def watch(self, job_id: str, after: int = 0) -> AsyncGenerator[JobEvent, None]:
        """Yield events as they happen until the job has ended; reconnects without gaps."""
        watch = Watch(job_id, after, RetryPolicy(self.url, FOLLOWING * self._retries))
        while not watch.has_ended():
            error: httpx.TransportError | None = None
            delay: float | None = None
            try:
                async with self._transport.stream(
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
            await self._transport.sleep(watch.interrupted(error) if delay is None else delay)

    async def wait(self, job_id: str, timeout: float | None = None) -> Job:
        """Wait until the job has ended and return it. Raises TimeoutError after `timeout` s."""
        deadline = WaitDeadline(job_id, timeout, self._timeout)
        while True:
            call = calls.get_ended(job_id, deadline.answer_seconds())
            job = await self._send(call, FOLLOWING * self._retries, deadline)
            if job.state.is_terminal:
                return job
            await self._transport.sleep(deadline.pause())

    async def curves(
        self,
        job_ids: Sequence[str],
        names: Sequence[str] = (),
        *,
        scope: str = "epoch",
        x: str = "epoch",
        begin: float | None = None,
        end: float | None = None,
        points: int = 1000,
    ) -> builtins.list[MetricCurve]:
        """Return curves of metrics of jobs, all metrics unless some are named.

        scope: epoch, or step for the values of training steps.
        x: epoch, step, samples, training_time (s, without pauses) or wall_time (s since 1970).
        begin, end: bounds of x.
        points: a curve with more is divided into so many buckets, at most.

        Raises NotFound and InvalidInput.
        """
        call = metric_curves(job_ids, names, scope, x, (begin, end), points)
        return await self._send(call)

    async def compare(
        self,
        job_ids: Sequence[str] | None = None,
        *,
        query: str | None = None,
        columns: Sequence[str] | None = None,
        metrics: Sequence[str] | None = None,
        group_by: Sequence[str] | None = None,
        left_out: Sequence[str] = ("seed",),
    ) -> dict[str, Any]:
        """Compare jobs: the settings that differ, their metrics, and figures of groups.

        Jobs of a group have equal values of `group_by`: by default of all settings that differ but
        those `left_out`. The result is that of `POST /v1/jobs:compare`. Raises InvalidInput and
        NotFound.
        """
        chosen = {
            "columns": columns,
            "metrics": metrics,
            "group_by": group_by,
            "except": left_out,
        }
        return await self._send(compare_jobs(job_ids, query, chosen))

    async def artifacts(self, job_id: str) -> builtins.list[Artifact]:
        """Return the files of the job's official attempt."""
        return await self._send(calls.artifacts(job_id))

    async def download(
        self, job_id: str, to: PathLike, roles: Collection[str] | None = None
    ) -> builtins.list[Path]:
        """Download the job's files to a folder, all of them or those of some roles.

        Each file is verified by its SHA-256 before it gets its name. A file that exists already
        is not downloaded again. Raises RemoteError for content with another digest.
        """
        listed = await self.artifacts(job_id)
        chosen = [file for file in listed if roles is None or file.role in roles]
        check_names(chosen)
        folder = Path(to)
        if chosen:
            folder.mkdir(parents=True, exist_ok=True)
        return [await self._download(job_id, artifact, folder) for artifact in chosen]

    async def download_file(self, job_id: str, name: str, to: PathLike) -> Path:
        """Download one of the job's files to a folder, as `download` does. Raises NotFound."""
        listed = await self.artifacts(job_id)
        check_names(listed)
        for artifact in listed:
            if artifact.name == name:
                Path(to).mkdir(parents=True, exist_ok=True)
                return await self._download(job_id, artifact, Path(to))
        names = ", ".join(artifact.name for artifact in listed) or "none yet"
        raise NotFound(f"the job has no file {name[:100]!r}; its files: {names}")

    async def profile(self, job_id: str) -> dict[str, Any]:
        """Return the job's profile.json. Raises NotFound before it exists."""
        return await self._send(calls.profile(job_id))

    async def _download(self, job_id: str, artifact: Artifact, folder: Path) -> Path:
        if is_downloaded(artifact, folder):
            return folder / artifact.name
        retries = RetryPolicy(self.url, FOLLOWING * self._retries)
        with Download(job_id, artifact, folder, retries) as download:
            while not download.complete:
                error: httpx.TransportError | None = None
                delay: float | None = None
                try:
                    async with self._transport.stream(
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
                    await self._transport.sleep(pause)
            return download.finish()
