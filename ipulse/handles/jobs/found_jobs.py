"""The jobs that a search finds, read when they are needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, overload

from ipulse.handles.optional import data_frame

from .job import JobHandle

if TYPE_CHECKING:
    from ipulse.handles.connection import Connection


class FoundJobs:
    """The jobs of a search, newest first or as `sort` says; each use asks the service again."""

    def __init__(self, connection: Connection, query: str, sort: str) -> None:
        self._connection = connection
        self._query = query
        self._sort = sort

    def __iter__(self) -> Iterator[JobHandle]:
        client = self._connection.client
        for job in client.list(query=self._query, sort=self._sort):
            yield JobHandle(self._connection, job)

    def __len__(self) -> int:
        return self._connection.client.count(self._query)

    @overload
    def __getitem__(self, index: int) -> JobHandle: ...

    @overload
    def __getitem__(self, index: slice) -> list[JobHandle]: ...

    def __getitem__(self, index: int | slice) -> JobHandle | list[JobHandle]:
        if isinstance(index, slice):
            if min(index.start or 0, index.stop or 0, index.step or 1) < 0 or index.stop is None:
                return list(self)[index]
            return list(islice(self, index.start, index.stop, index.step))
        if index < 0:
            return list(self)[index]
        try:
            return next(islice(self, index, None))
        except StopIteration:
            raise IndexError(f"the search finds {index} jobs or fewer") from None

    def frame(self, columns: Sequence[str] = ()) -> Any:
        """Return a pandas DataFrame with a row per job: id, name, state and these columns.

        Args:
            columns: Settings and metrics, such as learning_rate, test_accuracy or loss.min.
        """
        client = self._connection.client
        found = list(client.list(query=self._query, sort=self._sort, columns=columns))
        table: dict[str, list[Any]] = {
            "id": [job.id for job in found],
            "name": [job.name for job in found],
            "state": [job.state.value for job in found],
        }
        for column in columns:
            table[column] = [(job.json["values"] or {}).get(column) for job in found]
        return data_frame(table, "id")

    def _repr_html_(self) -> str:
        html: str = self.frame(["created", "test_accuracy"])._repr_html_()
        return html

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._query!r}>"
