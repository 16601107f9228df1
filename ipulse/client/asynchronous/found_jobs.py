"""The jobs that a search finds, read when they are needed."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ipulse.client.jobs import calls
from ipulse.client.jobs.batches import JobSearch
from ipulse.client.jobs.resources import Job
from ipulse.client.only_async import AsyncFoundJobsBase
from ipulse.optional_modules import data_frame

from .job import AsyncJobHandle

if TYPE_CHECKING:
    from .connection import AsyncConnection


class AsyncFoundJobs(AsyncFoundJobsBase):
    """The jobs of a search, newest first or as `sort` says; each use asks the service again."""

    def __init__(
        self,
        connection: AsyncConnection,
        search: JobSearch,
        state: str | None,
        id_prefix: str | None,
        page_size: int,
    ) -> None:
        self._connection = connection
        self._search = search
        self._state = state
        self._id_prefix = id_prefix
        self._page_size = page_size

    async def __aiter__(self) -> AsyncGenerator[AsyncJobHandle, None]:
        async for job in self._read(self._search):
            yield AsyncJobHandle(self._connection, job)

    async def count(self) -> int:
        """Return the number of jobs that the query finds. Raises InvalidInput."""
        search = JobSearch(self._search.query, count=True)
        call = calls.list_jobs(self._state, 1, "", self._id_prefix, search)
        return (await self._connection._send(call)).total or 0

    async def frame(self, columns: Sequence[str] = ()) -> Any:
        """Return a pandas DataFrame with a row per job: id, name, state and these columns.

        Args:
            columns: Settings and metrics, such as learning_rate, test_accuracy or loss.min.
        """
        found = [job async for job in self._read(replace(self._search, columns=columns))]
        table: dict[str, list[Any]] = {
            "id": [job.id for job in found],
            "name": [job.name for job in found],
            "state": [job.state.value for job in found],
        }
        for column in columns:
            table[column] = [(job.json["values"] or {}).get(column) for job in found]
        return data_frame(table, "id")

    async def _read(self, search: JobSearch) -> AsyncGenerator[Job, None]:
        token = ""
        while True:
            call = calls.list_jobs(self._state, self._page_size, token, self._id_prefix, search)
            page = await self._connection._send(call)
            for job in page.jobs:
                yield job
            token = page.next_page_token
            if not token:
                return

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._search.query!r}>"
