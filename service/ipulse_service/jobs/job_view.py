"""A job as a response describes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ipulse_service.db.engine import Transaction
from ipulse_service.jobs import leases, store
from ipulse_service.jobs.job import JobRow
from ipulse_service.jobs.leases import AttemptRow
from ipulse_service.jobs.queue.waiting import Waiting


class JobView(NamedTuple):
    """A job and what a response says about it, read in one transaction."""

    job: JobRow
    spec: str  # canonical JSON
    attempts: Sequence[AttemptRow] = ()  # in order
    waiting: Waiting | None = None

    @classmethod
    def read(cls, transaction: Transaction, job: JobRow, waiting: Waiting | None = None) -> JobView:
        """Reads the spec and the attempts of a job."""
        spec, attempts = store.spec_of(transaction, job), leases.of_job(transaction, job.pk)
        return cls(job, spec, attempts, waiting)
