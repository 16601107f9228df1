"""The custom ops of jobs. A package is kept as long as the job, also when the op is deleted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from sqlalchemy import insert, select

from ipulse_core.errors import NotFound
from ipulse_core.spec.custom_ops import OpReference
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import job_ops
from ipulse_service.files.stored import ArtifactRow
from ipulse_service.ops.registry import OpRow

_COLUMNS = (job_ops.c.name, job_ops.c.sha256, job_ops.c.size)


class JobOp(NamedTuple):
    """The package of a custom op that a job uses."""

    name: str
    sha256: str
    size: int  # bytes

    @property
    def artifact(self) -> ArtifactRow:
        """The package as a file to download."""
        return ArtifactRow(
            f"op_{self.sha256[:24]}",
            f"{self.name}.tar",
            "package",
            "application/x-tar",
            self.size,
            self.sha256,
            attempt=0,
            created_at=0,
        )


def add(transaction: Transaction, job_pk: int, used: Iterable[OpRow]) -> None:
    """Stores the ops of a new job."""
    _insert(transaction, job_pk, [JobOp(op.name, op.sha256, op.size) for op in used])


def add_imported(transaction: Transaction, job_pk: int, named: Iterable[OpReference]) -> None:
    """Stores the ops of an imported job, without their packages, which no archive has."""
    by_digest = {op.digest: JobOp(op.name, op.digest, size=0) for op in named}
    _insert(transaction, job_pk, by_digest.values())


def of_job(transaction: Transaction, job_pk: int) -> list[JobOp]:
    """Returns the ops of a job."""
    query = select(*_COLUMNS).where(job_ops.c.job_pk == job_pk).order_by(job_ops.c.sha256)
    return [JobOp(*row) for row in transaction.connection.execute(query)]


def get(transaction: Transaction, job_pk: int, sha256: str) -> JobOp:
    """Returns one op of a job. Raises NotFound."""
    for op in of_job(transaction, job_pk):
        if op.sha256 == sha256:
            return op
    raise NotFound("the job uses no op with this digest")


def _insert(transaction: Transaction, job_pk: int, used: Iterable[JobOp]) -> None:
    rows = [{"job_pk": job_pk, **op._asdict()} for op in used]
    if rows:
        transaction.connection.execute(insert(job_ops), rows)
