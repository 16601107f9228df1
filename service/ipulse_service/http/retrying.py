"""Retries of jobs by the caller of a request."""

from __future__ import annotations

from collections.abc import Callable

from ipulse_service.db.engine import Transaction
from ipulse_service.http.caller import Caller
from ipulse_service.jobs.job import JobRow
from ipulse_service.sweeps import repeats


def retry_by(caller: Caller) -> Callable[[Transaction, JobRow], JobRow]:
    """Returns the change that retries a job.

    It raises CodeNotPermitted for a job with code that the caller's token may not submit, and what
    `repeats.retry_job` raises.
    """

    def retry(transaction: Transaction, job: JobRow) -> JobRow:
        if job.needs.has_code:
            caller.access.check_submits_code(job.project)
        return repeats.retry_job(transaction, job, caller.name)

    return retry
