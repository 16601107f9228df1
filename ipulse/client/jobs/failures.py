"""Errors about jobs: one that did not succeed, and a name that several have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ipulse.client.jobs.resources import Job
from ipulse_core.errors import IPUlseError, NotFound

from .logs import LogLine

LISTED = 10  # jobs of one name in a message


class SeveralJobs(NotFound):
    """Several jobs have the name; `found` has them, the newest first."""

    def __init__(self, message: str, found: Sequence[Job] = ()) -> None:
        super().__init__(message)
        self.found = tuple(found)


class JobFailed(IPUlseError):
    """The job ended without success.

    Attributes:
        job_id: The job.
        state: Its state: failed or cancelled.
        reason: Why it ended, a value of ipulse_core.states.Reason, if that is known.
        log: The last lines of its log.
    """

    code = "job_failed"

    def __init__(self, job: Job, log: Sequence[LogLine] = ()) -> None:
        self.job_id = job.id
        self.state = job.state.value
        self.reason = job.reason
        self.log = tuple(log)
        why = f" ({job.reason})" if job.reason else ""
        said = f": {job.message}" if job.message else ""
        lines = "".join(f"\n  {line}" for line in self.log)
        super().__init__(f"job {job.id} {self.state}{why}{said}{lines}")
        self._job = job

    def __reduce__(self) -> Any:
        return type(self), (self._job, self.log)
