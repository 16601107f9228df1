"""The calls of both clients that submit and follow jobs."""

from __future__ import annotations

import uuid
from collections.abc import AsyncGenerator, Sequence
from typing import Any, Literal

import httpx

from ipulse.client.transport.call_sender import CallSender
from ipulse.client.transport.connection import WaitDeadline
from ipulse.client.transport.retries import FOLLOWING, RetryPolicy
from ipulse.client.transport.transports import Transport
from ipulse_core.errors import InvalidInput

from . import calls
from .batches import JobSearch, unknown_columns
from .job_reference import find_job
from .requests import JobRequest, Spec, each_placed, is_path
from .resources import Job, JobEvent, SubmissionPlan, ValidSpec
from .watching import SILENCE_SECONDS, Watch

CACHED_JOBS = 256  # last responses that are cached, so that polling is cheap


class Jobs(CallSender):
    """The calls that submit, list and follow jobs."""

    def __init__(self, url: str, transport: Transport, timeout: float, retries: int) -> None:
        super().__init__(url, transport, retries)
        self._timeout = timeout
        self._known: dict[str, Job] = {}

    async def ready(self) -> dict[str, Any]:
        """Return how the service is ready to process jobs. Raises Unavailable otherwise."""
        return await self._send(calls.ready())

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
        """Submit a job; see Client.submit."""
        if is_path(spec):  # with its text
            request = JobRequest(
                spec,
                priority=priority,
                queue_seconds=queue_seconds,
                run_seconds=run_seconds,
                total_seconds=total_seconds,
                tags=tags,
                group=group,
                notes=notes,
                after=after,
                start_from=start_from,
                start_mode=start_mode,
            )
            try:
                return (await self.submit_all([request], idempotency_key))[0]
            except InvalidInput as error:
                raise each_placed(error, lambda _, problem: problem) from None
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

    async def submit_all(
        self, jobs: Sequence[JobRequest | Spec], idempotency_key: str | None = None
    ) -> list[Job]:
        """Submit several jobs, all or none; see Client.submit_all."""
        requests = [job if isinstance(job, JobRequest) else JobRequest(job) for job in jobs]
        key = str(uuid.uuid4()) if idempotency_key is None else idempotency_key
        return await self._send(calls.submit_all(requests, key))

    async def spec_text(
        self, job_id: str, form: Literal["resolved", "submitted"] = "resolved"
    ) -> str:
        """Return the spec of a job as text; see Client.spec_text."""
        return await self._send(calls.spec_text(job_id, form))

    async def get(self, job_id: str) -> Job:
        """Return the job in its current state. Raises NotFound."""
        job = await self._send(calls.get(job_id, self._known.get(job_id)))
        _remember(self._known, job)
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
        waiting_on: bool = False,
    ) -> AsyncGenerator[Job, None]:
        """Yield jobs, newest first and without their specs; see Client.list."""
        token, search = "", JobSearch(query, sort, columns, waiting_on=waiting_on)
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

    async def check_columns(self, names: Sequence[str]) -> None:
        """Raise InvalidInput, with the known names, if no job has a column of one of these."""
        page = await self._send(calls.list_jobs(None, 1, "", search=JobSearch(columns=names)))
        if not page.unknown_columns:
            return
        known = await self._send(calls.columns())
        if known["total"]:  # without jobs, settings are not known either
            raise unknown_columns(page.unknown_columns, [c["label"] for c in known["columns"]])

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


def _remember(known: dict[str, Job], job: Job) -> None:
    """Cache a job's last response and drop the least recently used one."""
    known.pop(job.id, None)
    known[job.id] = job
    if len(known) > CACHED_JOBS:
        del known[next(iter(known))]
