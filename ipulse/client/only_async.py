"""The parts of the asynchronous client that `only_blocking` replaces in the blocking one."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ipulse.client.jobs.resources import Artifact
from ipulse.client.jobs.snapshot import JobSnapshot
from ipulse_core.errors import Conflict

if TYPE_CHECKING:
    from ipulse.client.asynchronous.connection import AsyncConnection
    from ipulse.client.asynchronous.job import AsyncJobHandle

Method = TypeVar("Method")


def blocking_property(method: Method) -> Method:
    """Mark a method that is a property of the blocking client, where nothing is awaited."""
    return method


class AsyncConnectionBase:
    """A connection as an asynchronous context manager.

    It belongs to the event loop that uses it first. In another loop, and after `close`, it raises
    Conflict.
    """

    url: str

    async def __aenter__(self) -> AsyncConnection:
        return cast("AsyncConnection", self)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await cast("AsyncConnection", self).close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            from ipulse.deprecated import former_member

            return former_member(self, name)


class AsyncFoundJobsBase:
    """Found jobs that are only iterated over; those of the blocking client are a sequence."""


class AsyncJobHandleBase(JobSnapshot):
    """The files of a job as a list."""

    async def files(self) -> list[Artifact]:
        """Return the files of the job's official attempt."""
        return await cast("AsyncJobHandle", self).artifacts()

    def __reduce__(self) -> Any:
        raise Conflict(
            "the handle of an asynchronous client belongs to its event loop: keep its id"
        )


class AsyncSweepHandleBase:
    """A sweep, without a picture of its own."""
