"""The parts of the blocking client alone: sequences, pictures in notebooks, and pickling."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from itertools import islice
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast, overload

from ipulse.client.jobs.files import JobFiles
from ipulse.client.jobs.snapshot import JobSnapshot
from ipulse_core.errors import Conflict, IPUlseError

if TYPE_CHECKING:
    from ipulse.client.blocking.connection import Connection
    from ipulse.client.blocking.found_jobs import FoundJobs
    from ipulse.client.blocking.job import JobHandle
    from ipulse.client.blocking.sweep import SweepHandle


class ConnectionBase:
    """A connection as a context manager; it may be closed, but need not be."""

    url: str
    _arguments: dict[str, Any]
    _has_token_text: bool

    def __enter__(self) -> Connection:
        return cast("Connection", self)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        cast("Connection", self).close()

    def __del__(self) -> None:
        with suppress(Exception):  # it was never opened, or the interpreter ends
            cast("Connection", self).close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    def __reduce__(self) -> Any:
        if self._has_token_text:
            raise Conflict(
                "a connection with a token as text is not pickled, so that the token stays in this "
                "process: pass token_file, or set IPULSE_TOKEN_FILE"
            )
        return partial(type(self), **self._arguments), ()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            from ipulse.deprecated import former_member

            return former_member(self, name)


class FoundJobsBase:
    """Found jobs as a sequence."""

    def __len__(self) -> int:
        return cast("FoundJobs", self).count()

    @overload
    def __getitem__(self, index: int) -> JobHandle: ...

    @overload
    def __getitem__(self, index: slice) -> list[JobHandle]: ...

    def __getitem__(self, index: int | slice) -> JobHandle | list[JobHandle]:
        jobs = cast("FoundJobs", self)
        if isinstance(index, slice):
            if min(index.start or 0, index.stop or 0, index.step or 1) < 0 or index.stop is None:
                return [*iter(jobs)][index]
            return [*islice(jobs, index.start, index.stop, index.step)]
        if index < 0:
            return [*iter(jobs)][index]
        try:
            return next(islice(jobs, index, None))
        except StopIteration:
            raise IndexError(f"the search finds {index} jobs or fewer") from None

    def _repr_html_(self) -> str:
        html: str = cast("FoundJobs", self).frame(["created", "test_accuracy"])._repr_html_()
        return html


class JobHandleBase(JobSnapshot):
    """A job with its files by name, a card and a view in notebooks.

    Handles of the same job are equal. A handle can be pickled unless the connection was made with
    a token as text, which never leaves the process.
    """

    @property
    def files(self) -> JobFiles:
        """The files of the job's official attempt, by name."""
        job = cast("JobHandle", self)
        return JobFiles(job, job.artifacts())

    def live(self) -> Any:
        """Return a widget that shows phase, curves and log until the job has ended.

        It needs a notebook and the extra `notebook`. A saved notebook keeps the job's card.
        """
        from ipulse.client.notebook.live import live_view

        return live_view(cast("JobHandle", self))

    def _repr_html_(self) -> str:
        """Return the card that notebooks show."""
        from ipulse.client.notebook.card import card_html

        job = cast("JobHandle", self)
        for metric in ("test_accuracy", "test_loss", "loss"):
            with suppress(IPUlseError):
                curve = job.metrics(metric, as_="columns")[metric]
                return card_html(job, [value for value in curve if value is not None], metric)
        return card_html(job, [], "")

    def __reduce__(self) -> Any:
        job = cast("JobHandle", self)
        return type(job), (job._connection, job._job)


class SweepHandleBase:
    """A sweep with a table in notebooks."""

    def _repr_html_(self) -> str:
        html: str = cast("SweepHandle", self).frame()._repr_html_()
        return html
