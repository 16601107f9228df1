"""The connection of an asynchronous program to the service."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from types import TracebackType
from typing import Literal

from ipulse.client import AsyncClient, JobRequest, SubmissionPlan, ValidSpec
from ipulse.client.location import PathLike

from .jobs.async_job import AsyncJobHandle
from .jobs.snapshot import JobSnapshot
from .submission import Submittable, document_of, requested


def connect_async(
    url: str | None = None,
    token: str | None = None,
    *,
    token_file: PathLike | None = None,
    home: PathLike | None = None,
    ca: PathLike | None = None,
    timeout: float = 30.0,
    retries: int = 4,
) -> AsyncConnection:
    """Return a connection with methods to await; the arguments are those of `connect`.

    Use it as `async with connect_async() as connection`.
    """
    client = AsyncClient(
        url, token, token_file=token_file, home=home, ca=ca, timeout=timeout, retries=retries
    )
    return AsyncConnection(client)


class AsyncConnection:
    """Jobs of a service, for asyncio and trio: the methods are those of Connection, awaited.

    Attributes:
        client: The ipulse.client.AsyncClient with the single calls of the HTTP interface.
    """

    def __init__(self, client: AsyncClient) -> None:
        self.client = client

    @property
    def url(self) -> str:
        """The address of the service."""
        return self.client.url

    async def submit(
        self,
        experiment: Submittable,
        *,
        tags: Sequence[str] = (),
        group: str | None = None,
        notes: str = "",
        start_from: JobSnapshot | str | None = None,
        start_mode: Literal["continue", "weights"] | None = None,
        priority: int | None = None,
        queue_seconds: int | None = None,
        run_seconds: int | None = None,
        total_seconds: int | None = None,
        idempotency_key: str | None = None,
    ) -> AsyncJobHandle:
        """Submit a job and return its handle; see Connection.submit."""
        job = await self.client.submit(
            document_of(experiment),
            idempotency_key,
            tags=tags,
            group=group,
            notes=notes,
            start_from=start_from.id if isinstance(start_from, JobSnapshot) else start_from,
            start_mode=start_mode,
            priority=priority,
            queue_seconds=queue_seconds,
            run_seconds=run_seconds,
            total_seconds=total_seconds,
        )
        return AsyncJobHandle(self.client, job)

    async def submit_all(
        self, experiments: Sequence[Submittable | JobRequest], idempotency_key: str | None = None
    ) -> list[AsyncJobHandle]:
        """Submit several jobs, all or none; see Connection.submit_all."""
        requests = [requested(experiment) for experiment in experiments]
        jobs = await self.client.submit_all(requests, idempotency_key)
        return [AsyncJobHandle(self.client, job) for job in jobs]

    async def validate(self, experiment: Submittable) -> ValidSpec:
        """Check an experiment in the service, without running it. Raises InvalidSpec."""
        return await self.client.validate(document_of(experiment))

    async def job(self, reference: str) -> AsyncJobHandle:
        """Return the handle of a job by a reference; see Client.find_id. Raises NotFound."""
        job = await self.client.get(await self.client.find_id(reference))
        return AsyncJobHandle(self.client, job)

    async def jobs(self, query: str = "", sort: str = "") -> AsyncGenerator[AsyncJobHandle, None]:
        """Yield the jobs that a search finds; see Connection.jobs."""
        async for job in self.client.list(query=query, sort=sort):
            yield AsyncJobHandle(self.client, job)

    async def plan(self, experiment: Submittable, priority: int = 0) -> SubmissionPlan:
        """Return when and where an experiment would run; see Connection.plan."""
        return await self.client.plan(document_of(experiment), priority)

    async def close(self) -> None:
        """Close the connections."""
        await self.client.close()

    async def __aenter__(self) -> AsyncConnection:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"
