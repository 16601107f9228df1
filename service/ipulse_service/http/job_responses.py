"""What the API says of a job: its JSON, whose shapes are in `shapes.py`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ipulse_service.db.engine import rfc3339
from ipulse_service.jobs.job import Job
from ipulse_service.jobs.leases import AttemptRow
from ipulse_service.jobs.waiting import Waiting

_DECODER = json.JSONDecoder()

Time = str  # RFC 3339 in UTC, to the millisecond


# Rows become plain dictionaries: for a page of a list, making each of them a model of those
# classes first took longer than all the rest.


def summary_of(job: Job, attempts: Sequence[AttemptRow]) -> dict[str, Any]:
    """The JSON of a JobSummaryBody."""
    return {
        "object": "job",
        "id": job.id,
        "name": job.name,
        "state": job.state.value,
        "reason": None if job.reason is None else job.reason.value,
        "message": job.message,
        "device": job.device,
        "priority": job.priority,
        "deadline_at": rfc3339(job.deadline_at),
        "attempt": job.attempt,
        "progress": None if job.progress is None else _parsed(job.progress),
        "summary": None if job.summary is None else _parsed(job.summary),
        "spec_sha256": job.spec_sha256,
        "created_at": rfc3339(job.created_at),
        "started_at": rfc3339(job.started_at),
        "finished_at": rfc3339(job.finished_at),
        "updated_at": rfc3339(job.updated_at),
        "phase_seconds": {phase: ms / 1000 for phase, ms in _parsed(job.phase_ms).items()},
        "attempts": [_attempt(attempt) for attempt in attempts],
        "last_seq": job.last_seq,
        "metadata": _parsed(job.metadata),
        "version": job.version,
    }


def whole(
    job: Job, attempts: Sequence[AttemptRow], waits_for: Waiting | None = None
) -> dict[str, Any]:
    """The JSON of a JobBody."""
    return {
        **summary_of(job, attempts),
        "spec": _parsed(job.spec),
        "waiting_on": None if waits_for is None else _waiting(waits_for),
    }


def _parsed(text: str) -> Any:
    # The texts of our own columns need none of the care that `loads` takes.
    return _DECODER.raw_decode(text)[0]


def _attempt(attempt: AttemptRow) -> dict[str, Any]:
    return {
        "number": attempt.number,
        "agent": attempt.agent,
        "reason": attempt.reason,
        "message": attempt.message,
        "started_at": rfc3339(attempt.started_at),
        "finished_at": rfc3339(attempt.finished_at),
    }


def _waiting(waiting: Waiting) -> dict[str, Any]:
    return {
        "reason": waiting.reason,
        "position": waiting.position,
        "holder": waiting.holder,
        "estimated_start": rfc3339(waiting.estimated_start),
    }
