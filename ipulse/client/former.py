"""The former classes Client, AsyncClient and DataLibrary: methods that take ids of jobs and sweeps.

Each method is an entry of a table, which says what of a connection, a job or a sweep it calls.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from typing import Any

from ipulse.client.asynchronous.connection import AsyncConnection
from ipulse.client.asynchronous.found_jobs import AsyncFoundJobs
from ipulse.client.asynchronous.job import AsyncJobHandle
from ipulse.client.asynchronous.job_reference import find_job as find_job_async
from ipulse.client.asynchronous.sweep import AsyncSweepHandle
from ipulse.client.blocking.connection import Connection
from ipulse.client.blocking.found_jobs import FoundJobs
from ipulse.client.blocking.job import JobHandle
from ipulse.client.blocking.job_reference import find_job
from ipulse.client.blocking.sweep import SweepHandle
from ipulse.client.datasets.resources import DatasetVersion
from ipulse.client.jobs.job_profile import JobProfile
from ipulse.client.jobs.resources import Job
from ipulse.client.sweeps.resources import SweepStatus

# Methods that took the id of a job first, by the method of the job.
_OF_JOBS = {
    **{
        name: name
        for name in (
            *("artifacts", "cancel", "continue_training", "delete", "download", "download_file"),
            *("edit", "events", "pause", "profile", "resume", "retry", "spec_text", "watch"),
        )
    },
    "finish": "stop",
    "get": "refresh",
}
# Methods that took the id of a sweep first, by the method of the sweep.
_OF_SWEEPS = {
    "change_sweep": "extend",
    "delete_sweep": "delete",
    "pause_sweep": "pause",
    "resume_sweep": "resume",
    "retry_sweep": "retry",
    "stop_sweep": "stop",
    "sweep": "refresh",
    "sweep_trials": "trials",
}
# Methods of connections that returned statuses in place of handles.
_OF_CONNECTIONS = ("import_archive", "submit", "submit_all", "sweeps")
_VERBS = ("cancel", "delete", "finish", "pause", "resume", "retry")  # for all jobs of a selection


def _handle(connection: Any, id: str, of_sweep: bool) -> Any:
    """Return a handle of which only the id is known, without a request."""
    known: Any = object.__new__(SweepStatus if of_sweep else Job)
    object.__setattr__(known, "id", id)
    if isinstance(connection, Connection):
        return (SweepHandle if of_sweep else JobHandle)(connection, known)
    return (AsyncSweepHandle if of_sweep else AsyncJobHandle)(connection, known)


def _base(connection: Any) -> Any:
    return Connection if isinstance(connection, Connection) else AsyncConnection


def _status(value: Any) -> Any:
    """Return a result as the former clients did: without handles."""
    if isinstance(value, (JobHandle, AsyncJobHandle, SweepHandle, AsyncSweepHandle)):
        return value.status
    if isinstance(value, JobProfile):
        return value.json
    if isinstance(value, list):
        return [_status(item) for item in value]
    if isinstance(value, FoundJobs):
        return _statuses(value)
    if isinstance(value, AsyncFoundJobs):
        return _awaited_statuses(value)
    return _awaited(value) if inspect.isawaitable(value) else value


async def _awaited(value: Awaitable[Any]) -> Any:
    return _status(await value)


def _statuses(jobs: FoundJobs) -> Generator[Job, None, None]:
    for job in jobs:
        yield job.status


async def _awaited_statuses(jobs: AsyncFoundJobs) -> AsyncGenerator[Job, None]:
    async for job in jobs:
        yield job.status


def _of_handle(method: str, of_sweep: bool) -> Callable[..., Any]:
    def call(self: Any, id: str, *arguments: Any, **options: Any) -> Any:
        return _status(getattr(_handle(self, id, of_sweep), method)(*arguments, **options))

    return call


def _of_connection(name: str) -> Callable[..., Any]:
    def call(self: Any, *arguments: Any, **options: Any) -> Any:
        return _status(getattr(_base(self), name)(self, *arguments, **options))

    return call


def _of_selection(verb: str) -> Callable[..., Any]:
    def call(self: Any, selection: Any, dry_run: bool = False) -> Any:
        return self.change_all(verb, selection, dry_run)

    return call


def _wait(self: Any, job_id: str, timeout: float | None = None) -> Any:
    return _status(_handle(self, job_id, of_sweep=False).wait(timeout, check=False))


def _change_priority(self: Any, job_id: str, priority: int) -> Any:
    return _status(_handle(self, job_id, of_sweep=False).edit(priority=priority))


def _list(
    self: Any,
    state: str | None = None,
    page_size: int = 100,
    id_prefix: str | None = None,
    **search: Any,
) -> Any:
    found = self.jobs(state=state, page_size=page_size, id_prefix=id_prefix, **search)
    return _status(found)


def _count(self: Any, query: str = "") -> Any:
    return self.jobs(query).count()


def _find_id(self: Any, reference: str) -> Any:
    return (find_job if isinstance(self, Connection) else find_job_async)(self, reference)


def _create_sweep(self: Any, definition: Any, idempotency_key: str | None = None) -> Any:
    made = _base(self).create_sweep(self, definition, idempotency_key=idempotency_key)
    return _status(made)


def _push_dataset(self: Any, path: Any, name: str, on_progress: Any = None) -> Any:
    return _base(self).push_dataset(self, path, name, on_progress, check=False)


_METHODS: dict[str, Callable[..., Any]] = {
    **{name: _of_handle(method, of_sweep=False) for name, method in _OF_JOBS.items()},
    **{name: _of_handle(method, of_sweep=True) for name, method in _OF_SWEEPS.items()},
    **{name: _of_connection(name) for name in _OF_CONNECTIONS},
    **{f"{verb}_all": _of_selection(verb) for verb in _VERBS},
    "wait": _wait,
    "change_priority": _change_priority,
    "list": _list,
    "count": _count,
    "find_id": _find_id,
    "create_sweep": _create_sweep,
    "push_dataset": _push_dataset,
}

_NOT_CLOSED = {"__del__": lambda self: None}  # it was closed by `close` only
Client = type("Client", (Connection,), {**_METHODS, **_NOT_CLOSED, "__doc__": Connection.__doc__})
AsyncClient = type(
    "AsyncClient",
    (AsyncConnection,),
    {**_METHODS, "__doc__": AsyncConnection.__doc__},
)


class DataLibrary:
    """Uploads and lists data sets: the former `Connection.data`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.push = connection.push_dataset
        self.list = connection.datasets
        self.delete = connection.delete_dataset

    def __getitem__(self, reference: str) -> DatasetVersion:
        return self._connection.dataset(reference)


def client_of(connection: Any) -> Any:
    """Return a former client over the transport of a connection."""
    kind: Any = Client if isinstance(connection, Connection) else AsyncClient
    client = object.__new__(kind)
    client.__dict__ = connection.__dict__
    return client


def data_library_of(connection: Connection) -> DataLibrary:
    """Return the data sets of a connection."""
    return DataLibrary(connection)


def sweep_of(connection: Connection) -> Callable[[str], SweepHandle]:
    """Return the method that returns the handle of a sweep by its id."""
    return connection.sweep
