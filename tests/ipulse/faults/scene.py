"""What an audit reads, made by hand: a job that ended well, its files, what its runners told."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from sqlalchemy import update

from ipulse.faults.audit import Findings, audit
from ipulse.faults.records import Records
from ipulse.faults.scripted_runner import weights_after
from ipulse.faults.witness import Witness
from ipulse.states import Reason
from service import artifacts, attempts, leases, migrations, store, submission, tables
from service.artifacts import Description
from service.attempts import Verdict
from service.blobs import Blobs
from service.database import Database
from service.settings import Settings

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
        self.witness = Witness(folder / "witness.jsonl")
        self.blobs = Blobs(folder / "artifacts")
        self.blobs.prepare()
        submitted = submission.submit(self.database, submission.check(SPEC), "user", None)
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
            claim = leases.claim(transaction, self.id, "agent", ["cpu"], 15.0)
        if reason is Reason.COMPLETED:
            self.leave(claim.attempt, "weights", weights_after(self.id, STEPS))
            self.leave(claim.attempt, "manifest", "{}")
        with self.database.write() as transaction:
            attempt = leases.check_fence(transaction, claim.attempt.id, claim.fence)
            job = store.get(transaction, self.id)
            if reason is Reason.COMPLETED:
                for state in (store.JobState.RUNNING, store.JobState.REPORTING):
                    job = store.move(transaction, job, state)
            attempts.finish(transaction, attempt, Verdict(reason), self.settings)

    def leave(self, attempt: leases.Attempt, role: str, text: str) -> None:
        incoming = self.blobs.receive()
        incoming.write(text.encode())
        incoming.sync()
        with self.database.write() as transaction:
            described = Description(name=role, role=role, media_type="text/plain")
            self.blobs.keep(incoming)
            artifacts.add(transaction, attempt, described, incoming)
        incoming.close()

    def saw(self, attempt: int, first: float, last: float) -> None:
        with self.witness.path.open("a") as file:
            for at in (first, last):
                line = {"what": "step", "job": self.id, "attempt": attempt, "pid": 1, "at": at}
                file.write(json.dumps(line) + "\n")

    def execute(self, statement: Any) -> None:
        with self.database.write() as transaction:
            transaction.connection.execute(statement)

    def audit(self, **changes: Any) -> Findings:
        told: dict[str, Any] = {
            "accepted": {"key": self.id},
            "cancelled": (),
            "stopped": (),
            "steps": STEPS,
        }
        return audit(self, **{**told, **changes})

    def blob(self, text: str) -> Path:
        digest = hashlib.sha256(text.encode()).hexdigest()
        return self.home / "artifacts" / "sha256" / digest[:2] / digest
