"""A handmade scene for an audit: a successful job, its files and its execution log."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from sqlalchemy import update

from ipulse.spec import parse_spec
from ipulse_core.attempt_outcome import AttemptOutcome
from ipulse_core.states import JobState, Reason
from ipulse_service.db import migrations, tables
from ipulse_service.db.engine import Database
from ipulse_service.files.blobs import Blobs
from ipulse_service.jobs import artifacts, attempts, leases, store, submission, transitions
from ipulse_service.jobs.artifacts import NewArtifact
from ipulse_service.jobs.queue import claims
from ipulse_service.selftest.audit import Findings, audit
from ipulse_service.selftest.execution_log import ExecutionLog
from ipulse_service.selftest.records import Records
from ipulse_service.selftest.scripted_runner import weights_after
from ipulse_service.settings import Settings

STEPS = 5
SPEC = {"version": 1, "name": "one", "network": {"layers": [{"neurons": 4}]}}


class Scene:
    """A database with one job that succeeded at its second attempt, and what the audit reads."""

    def __init__(self, folder: Path) -> None:
        self.home = folder
        self.settings = Settings(home=folder)
        self.database = Database(self.settings.database_url)
        migrations.upgrade(self.database)
        self.records = Records(folder / "ipulse.db")
        self.execution_log = ExecutionLog(folder / "execution_log.jsonl")
        self.blobs = Blobs(folder / "artifacts")
        self.blobs.prepare()
        wanted = submission.Submission(submission.resolve(parse_spec(SPEC)))
        submitted = submission.submit(self.database, wanted, "user", None)
        self.id = submitted.job.id
        self.pk = submitted.job.pk
        self.end(Reason.RUNNER_LOST)
        with self.database.write() as transaction:
            waiting = update(tables.jobs).values(due_at=0)
            transaction.connection.execute(waiting)
            attempts.requeue(transaction)
        self.end(Reason.COMPLETED)
        self.saw(1, 0.0, 1.0)
        self.saw(2, 2.0, 3.0)

    def end(self, reason: Reason) -> None:
        """Claims the job and ends the attempt."""
        with self.database.write() as transaction:
            claim = claims.claim(transaction, self.id, "agent", ["cpu"], 15.0)
        if reason is Reason.COMPLETED:
            self.leave(claim.attempt, "weights", weights_after(self.id, STEPS))
            self.leave(claim.attempt, "manifest", "{}")
        with self.database.write() as transaction:
            attempt = leases.check_fence(transaction, claim.attempt.id, claim.fence)
            job = store.get(transaction, self.id)
            if reason is Reason.COMPLETED:
                for state in (JobState.RUNNING, JobState.REPORTING):
                    job = transitions.move(transaction, job, state)
            attempts.finish(transaction, attempt, AttemptOutcome(reason), self.settings)

    def leave(self, attempt: leases.Attempt, role: str, text: str) -> None:
        incoming = self.blobs.receive()
        incoming.write(text.encode())
        incoming.sync()
        with self.database.write() as transaction:
            described = NewArtifact(name=role, role=role, media_type="text/plain")
            self.blobs.keep(incoming)
            artifacts.add(transaction, attempt, described, incoming)
        incoming.close()

    def saw(self, attempt: int, first: float, last: float) -> None:
        with self.execution_log.path.open("a") as file:
            for at in (first, last):
                line = {"what": "step", "job": self.id, "attempt": attempt, "pid": 1, "at": at}
                file.write(json.dumps(line) + "\n")

    def execute(self, statement: Any) -> None:
        with self.database.write() as transaction:
            transaction.connection.execute(statement)

    def audit(self, **changes: Any) -> Findings:
        report: dict[str, Any] = {
            "accepted": {"key": self.id},
            "cancelled": (),
            "stopped": (),
            "steps": STEPS,
        }
        return audit(self, **{**report, **changes})

    def blob(self, text: str) -> Path:
        digest = hashlib.sha256(text.encode()).hexdigest()
        return self.home / "artifacts" / "sha256" / digest[:2] / digest
