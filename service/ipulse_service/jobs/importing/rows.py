"""The rows of an imported job: the job, its attempts, events, files and index."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import insert

from ipulse.archives.archived_event import ArchivedEvent
from ipulse.archives.archived_job import ArchivedJob, ArchivedStart
from ipulse.archives.verification import OpenArchive
from ipulse_core import ids, strict_json
from ipulse_core.events import MetricEvent
from ipulse_core.manifest import ListedFile
from ipulse_service.datasets import references
from ipulse_service.db.calendar import stored
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import artifacts, attempts, jobs
from ipulse_service.jobs import events, submission
from ipulse_service.jobs.job import COLUMNS, JobRow
from ipulse_service.jobs.job_attributes import JobAttributes
from ipulse_service.jobs.queue.needs import Needs
from ipulse_service.jobs.search import metrics_index, settings_index
from ipulse_service.jobs.start.start_file import StartFile
from ipulse_service.ops import in_specs, job_ops

_BATCH = 10_000  # events that are inserted at once


def add(
    transaction: Transaction,
    archive: OpenArchive,
    found: Sequence[ArchivedEvent],
    archive_sha256: str,
) -> JobRow:
    """Adds a job that has ended elsewhere. Its files are in the store, and its id is free."""
    job = archive.job
    resolved = submission.resolve(archive.spec)
    values = {
        "id": job.id,
        "name": job.name,
        "state": job.state.value,
        "reason": job.reason.value,
        "message": job.message,
        **Needs.of_spec(archive.spec)._asdict(),
        "dataset_sha256": references.digest_of(archive.spec),
        "spec": resolved.text,
        "spec_sha256": resolved.sha256,
        "metadata": strict_json.dumps(archive.spec.metadata),
        "attempt": job.attempt,
        "progress": None if job.progress is None else strict_json.dumps(job.progress),
        "summary": None if job.summary is None else strict_json.dumps(job.summary),
        "phase_ms": strict_json.dumps(
            {phase: round(1000 * seconds) for phase, seconds in job.phase_seconds.items()}
        ),
        "created_at": stored(job.created_at),
        "started_at": None if job.started_at is None else stored(job.started_at),
        "finished_at": stored(job.finished_at),
        "updated_at": stored(job.updated_at),
        "state_since": stored(job.finished_at),
        "queued_at": stored(job.created_at),
        "priority": job.priority,
        "last_seq": job.last_seq,
        "version": job.version,
        **JobAttributes(job.tags, job.group, job.notes).columns(),
        **(_start_columns(job.start_from) if job.start_from else {}),
        "finish_by": None if job.finish_by is None else stored(job.finish_by),
        "imported_at": transaction.now,
        "imported_sha256": archive_sha256,
    }
    query = insert(jobs).returning(*COLUMNS)
    row = JobRow.of(transaction.connection.execute(query, values).one())
    attempt_pks = _add_attempts(transaction, row.pk, job)
    if archive.files:
        _add_files(transaction, row, attempt_pks[-1], archive.files)
    _add_events(transaction, row.pk, found)
    job_ops.add_imported(transaction, row.pk, in_specs.references(archive.spec))
    settings_index.add(transaction, row.pk, resolved.value)
    metrics_index.add_epochs(
        transaction,
        row.pk,
        [
            (each.event.epoch, each.event.values)
            for each in found
            if isinstance(each.event, MetricEvent) and each.event.scope == "epoch"
        ],
    )
    if job.summary:
        metrics_index.add_summary(transaction, row.pk, job.summary)
    return row


def _add_attempts(transaction: Transaction, job_pk: int, job: ArchivedJob) -> list[int]:
    pks = []
    for attempt in job.attempts:
        values = {
            "id": ids.new_id(ids.ATTEMPT),
            "job_pk": job_pk,
            "number": attempt.number,
            "agent": attempt.agent,
            "fence_sha256": "",  # no token has this digest
            "lease_expires_at": stored(attempt.finished_at),
            "started_at": stored(attempt.started_at),
            "finished_at": stored(attempt.finished_at),
            "reason": attempt.reason.value,
            "message": attempt.message,
        }
        query = insert(attempts).values(values).returning(attempts.c.pk)
        pks.append(transaction.connection.execute(query).scalar_one())
    return pks


def _add_files(
    transaction: Transaction, job: JobRow, attempt_pk: int, files: Sequence[ListedFile]
) -> None:
    rows = [
        {
            "id": ids.new_id(ids.ARTIFACT),
            "job_pk": job.pk,
            "attempt_pk": attempt_pk,
            **file.to_json(),
            "created_at": transaction.now,
        }
        for file in files
    ]
    transaction.connection.execute(insert(artifacts), rows)


def _add_events(transaction: Transaction, job_pk: int, found: Sequence[ArchivedEvent]) -> None:
    for begin in range(0, len(found), _BATCH):
        rows = [
            {
                "job_pk": job_pk,
                "seq": each.seq,
                "time": stored(each.time),
                "attempt": each.attempt,
                "kind": each.kind,
                "body": each.body,
            }
            for each in found[begin : begin + _BATCH]
        ]
        events.insert_rows(transaction, rows)


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
