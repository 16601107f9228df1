"""Jobs as lists show them: their JSON, kept for as long as a job stays as it is."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from sqlalchemy import bindparam, select

from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import jobs
from ipulse_service.http.job_responses import summary_of
from ipulse_service.http.responses import json_text
from ipulse_service.jobs import leases
from ipulse_service.jobs.job import COLUMNS, Job
from ipulse_service.jobs.listing import Version

MOST = 2_000  # jobs whose JSON is kept: some two mebibytes

_SOME = select(*COLUMNS).where(jobs.c.pk.in_(bindparam("job_pks", expanding=True)))


class Summaries:
    """A job and its attempts change only together with the job's version."""

    def __init__(self) -> None:
        self._kept: dict[Version, str] = {}
        self._changing = threading.Lock()

    def of(self, transaction: Transaction, shown: Sequence[Version]) -> list[str]:
        """The JSON of jobs that this transaction sees in these versions."""
        texts = {version: self._kept.get(version) for version in shown}
        missing = [version.pk for version, text in texts.items() if text is None]
        if missing:
            tried = leases.of_jobs(transaction, missing)
            for row in transaction.connection.execute(_SOME, {"job_pks": missing}):
                job = Job.of(row)
                version = Version(job.pk, job.version, job.updated_at)
                texts[version] = text = json_text(summary_of(job, tried[job.pk]))
                self._keep(version, text)
        return [text for text in texts.values() if text is not None]

    def _keep(self, version: Version, text: str) -> None:
        with self._changing:
            self._kept[version] = text
            if len(self._kept) > MOST:
                del self._kept[next(iter(self._kept))]  # what was made first
