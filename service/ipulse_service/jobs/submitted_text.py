"""The text of a spec as its client submitted it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sqlalchemy import insert, select

from ipulse_core.errors import NotFound
from ipulse_core.limits import MAX_KEPT_TEXT_BYTES
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import submitted_specs
from ipulse_service.jobs.job import JobRow

TextForm = Literal["yaml", "json"]

_INSERT = insert(submitted_specs)


class NotKept(NotFound):
    """The text of this job's spec was not kept."""

    code = "spec_not_kept"


@dataclass(frozen=True)
class SubmittedText:
    """A text of a client: a spec with its comments, its order and without defaults."""

    form: TextForm
    text: str

    def is_kept(self) -> bool:
        """Returns whether it is short enough to be kept."""
        return len(self.text.encode()) <= MAX_KEPT_TEXT_BYTES


def add(transaction: Transaction, job: JobRow, submitted: SubmittedText) -> None:
    """Stores the text of a job's spec, unless it is too long."""
    if submitted.is_kept():
        row = {"job_pk": job.pk, "form": submitted.form, "text": submitted.text}
        transaction.insert_last(_INSERT, [row])


def get(transaction: Transaction, job: JobRow) -> SubmittedText:
    """Returns the text of a job's spec. Raises NotKept."""
    query = select(submitted_specs.c.form, submitted_specs.c.text).where(
        submitted_specs.c.job_pk == job.pk
    )
    row = transaction.connection.execute(query).one_or_none()
    if row is None:
        raise NotKept(
            f"the text of the spec of {job.id} was not kept: the job is older than this feature, "
            f"was made by the service (a trial, a continuation, an import), or its text has more "
            f"than {MAX_KEPT_TEXT_BYTES:,} bytes"
        )
    return SubmittedText(row.form, row.text)
