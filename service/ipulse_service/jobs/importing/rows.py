"""The rows of an imported job, which nobody sees until all of them are there.

They are added in short transactions, so that other writers need not wait. Until the last one, the
job has no public id and a state that no list shows. If the import ends before that, what it added
is deleted by `jobs/deletion.py`.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, NamedTuple

from sqlalchemy import func, insert, select, update

from ipulse.archives.archived_job import ArchivedStart
from ipulse.spec import AnySpec
from ipulse_core import ids, strict_json
from ipulse_core.manifest import ListedFile
from ipulse_service.agents.needs import Needs
from ipulse_service.datasets import references
from ipulse_service.db.calendar import stored
from ipulse_service.db.engine import Database, Transaction
from ipulse_service.db.tables import IMPORTING, artifacts, attempts, job_metrics, jobs
from ipulse_service.jobs import events, submission
from ipulse_service.jobs.job import COLUMNS, JobRow
from ipulse_service.jobs.job_attributes import JobAttributes
from ipulse_service.jobs.search import name_ids, settings_index
from ipulse_service.jobs.start.start_file import StartFile
from ipulse_service.ops import in_specs, job_ops

_BATCH = 1_000  # rows of one transaction
_BATCH_BYTES = 2**21  # of their JSON


class ImportedJob(NamedTuple):
    """A job of a verified archive. Times are milliseconds since 1970 by its service's clock."""

    fields: dict[str, Any]  # of job.json, without attempts and spec
    spec: AnySpec
    files: Sequence[ListedFile]
    metrics: dict[str, dict[str, Any]]  # rows of the index
    archive_sha256: str


def begin(database: Database, job: ImportedJob) -> int:
    """Adds the row of a job, hidden, and returns its key."""
    resolved = submission.resolve(job.spec)
    with database.write() as transaction:
        values = _columns(transaction, job, resolved)
        query = insert(jobs).returning(jobs.c.pk)
        pk = int(transaction.connection.execute(query, values).scalar_one())
        settings_index.add(transaction, pk, resolved.settings)
    return pk


def fill(
    database: Database, pk: int, job: ImportedJob, attempt_count: int, lines: Iterable[bytes]
) -> None:
    """Adds the other rows of a hidden job in short transactions.

    Args:
        database: Gets the rows.
        pk: Of the job.
        job: Of the archive.
        attempt_count: How many of the lines are attempts; the others are events.
        lines: A row as JSON each.
    """
    with database.write() as transaction:
        _add_metrics(transaction, pk, job.metrics)
    lines = iter(lines)
    for batch in _batches(islice(lines, attempt_count)):
        rows = [_attempt(pk, each) for each in batch]
        with database.write() as transaction:
            transaction.connection.execute(insert(attempts), rows)
            _renew(transaction, pk)
    for batch in _batches(lines):
        rows = [{**each, "job_pk": pk, "time": stored(each["time"])} for each in batch]
        with database.write() as transaction:
            events.insert_rows(transaction, rows, are_new=False)
            _renew(transaction, pk)


def show(transaction: Transaction, pk: int, job: ImportedJob) -> JobRow:
    """Adds the files of a staged job and lets everybody see it. Its id is free."""
    fields = job.fields
    if job.files:
        latest = select(func.max(attempts.c.pk)).where(
            attempts.c.job_pk == pk, attempts.c.number == fields["attempt"]
        )
        attempt_pk = transaction.connection.execute(latest).scalar_one()
        rows = [
            {
                "id": ids.new_id(ids.ARTIFACT),
                "job_pk": pk,
                "attempt_pk": attempt_pk,
                **file.to_json(),
                "created_at": transaction.now,
            }
            for file in job.files
        ]
        transaction.connection.execute(insert(artifacts), rows)
    job_ops.add_imported(transaction, pk, in_specs.references(job.spec))
    start = fields["start_from"]
    attributes = JobAttributes(tuple(fields["tags"]), fields["group"], fields["notes"])
    values = {
        "id": fields["id"],
        "state": fields["state"],
        **attributes.columns(),
        "updated_at": stored(fields["updated_at"]),
        "imported_at": transaction.now,
        "dataset_sha256": references.digest_of(job.spec),
        **(_start_columns(ArchivedStart.model_validate(start)) if start else {}),
    }
    change = update(jobs).where(jobs.c.pk == pk).values(values).returning(*COLUMNS)
    shown = JobRow.of(transaction.connection.execute(change).one())
    transaction.audit("job.import", shown.id, shown.project, f"sha256:{job.archive_sha256}")
    return shown


def _columns(
    transaction: Transaction, job: ImportedJob, resolved: submission.ResolvedSpec
) -> dict[str, Any]:
    fields = job.fields
    started_at, finish_by = fields["started_at"], fields["finish_by"]
    return {
        "id": f"importing_{secrets.token_hex(16)}",
        "name": fields["name"],
        "state": IMPORTING,
        "reason": fields["reason"],
        "message": fields["message"],
        **Needs.of_spec(job.spec)._asdict(),
        "spec": resolved.text,
        "spec_sha256": resolved.sha256,
        "metadata": strict_json.dumps(job.spec.metadata),
        "attempt": fields["attempt"],
        "progress": _json_or_none(fields["progress"]),
        "summary": _json_or_none(fields["summary"]),
        "phase_ms": strict_json.dumps(
            {phase: round(1000 * seconds) for phase, seconds in fields["phase_seconds"].items()}
        ),
        "created_at": stored(fields["created_at"]),
        "started_at": None if started_at is None else stored(started_at),
        "finished_at": stored(fields["finished_at"]),
        "updated_at": transaction.now,
        "state_since": stored(fields["finished_at"]),
        "queued_at": stored(fields["created_at"]),
        "priority": fields["priority"],
        "last_seq": fields["last_seq"],
        "version": fields["version"],
        "finish_by": None if finish_by is None else stored(finish_by),
        "imported_sha256": job.archive_sha256,
        **transaction.access.ownership(),
    }


def _json_or_none(value: Any) -> str | None:
    return None if value is None else strict_json.dumps(value)


def _renew(transaction: Transaction, pk: int) -> None:
    """Marks an import as going on."""
    change = update(jobs).where(jobs.c.pk == pk).values(updated_at=transaction.now)
    transaction.connection.execute(change)


def _batches(lines: Iterable[bytes]) -> Iterable[list[dict[str, Any]]]:
    batch: list[dict[str, Any]] = []
    size = 0
    for line in lines:
        batch.append(strict_json.loads(line))
        size += len(line)
        if len(batch) >= _BATCH or size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _attempt(job_pk: int, attempt: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": ids.new_id(ids.ATTEMPT),
        "job_pk": job_pk,
        "number": attempt["number"],
        "agent": attempt["agent"],
        "fence_sha256": "",  # no token has this digest
        "lease_expires_at": stored(attempt["finished_at"]),
        "started_at": stored(attempt["started_at"]),
        "finished_at": stored(attempt["finished_at"]),
        "reason": attempt["reason"],
        "message": attempt["message"],
    }


def _add_metrics(transaction: Transaction, job_pk: int, metrics: dict[str, dict[str, Any]]) -> None:
    if metrics:
        known = name_ids.ensure(transaction, name_ids.METRIC, metrics)
        rows = [{"job_pk": job_pk, "name_id": known[name], **metrics[name]} for name in metrics]
        transaction.connection.execute(insert(job_metrics), rows)


def _start_columns(start: ArchivedStart) -> dict[str, str]:
    """Returns the columns about the file that the job started from, which is not in the archive."""
    file = StartFile(
        job=start.job,
        mode=start.mode,
        artifact_id="",
        name=start.name,
        role="checkpoint" if start.mode == "continue" else "weights",
        media_type="application/octet-stream",
        sha256=start.sha256,
        size=0,
        epoch=start.epoch,
    )
    columns = file.columns()
    return {name: columns[name] for name in ("start_from", "start_job")}
