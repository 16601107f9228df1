"""The audit finds what it is there to find: each promise is broken here by hand."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, insert, update

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


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def test_a_job_that_was_rerun_and_succeeded_is_fine(scene: Scene) -> None:
    found = scene.audit()
    assert found.is_clean, found
    assert found.states == {"succeeded": 1}


def test_an_accepted_job_without_a_row_is_lost(scene: Scene) -> None:
    found = scene.audit(accepted={"key": scene.id, "other": "job_gone"})
    assert found.lost == ["job_gone (missing)"]


@pytest.mark.parametrize("state", ["queued", "running", "failed", "cancelled"])
def test_a_job_that_did_not_come_to_its_end_is_lost(scene: Scene, state: str) -> None:
    scene.execute(update(tables.jobs).values(state=state))
    assert [one.split()[0] for one in scene.audit().lost] == [scene.id]
    assert scene.audit(cancelled={scene.id}).lost == (
        [] if state == "cancelled" else scene.audit().lost
    )


def test_two_attempts_that_completed_are_one_too_many(scene: Scene) -> None:
    scene.execute(update(tables.attempts).values(reason="completed"))
    assert scene.audit().doubled == [scene.id]


def test_two_ends_are_one_too_many(scene: Scene) -> None:
    last = scene.records.jobs()[0][4]
    values = {"job_pk": scene.pk, "seq": last + 1, "time": 1, "kind": "state"}
    body = json.dumps({"state": "succeeded", "reason": "completed", "message": ""})
    scene.execute(insert(tables.events).values(**values, body=body))
    scene.execute(update(tables.jobs).values(last_seq=last + 1))
    assert scene.audit().doubled == [scene.id]


def test_a_gap_in_the_events_is_found(scene: Scene) -> None:
    scene.execute(delete(tables.events).where(tables.events.c.seq == 2))
    assert [one for one in scene.audit().broken if "gap" in one]


def test_a_job_that_no_key_made_is_found(scene: Scene) -> None:
    assert scene.audit(accepted={}).broken == [f"{scene.id} was made by no key, or twice by one"]


def test_a_file_that_is_gone_or_damaged_is_found(scene: Scene) -> None:
    scene.blob("{}").write_text("[]")
    assert scene.audit().broken == [f"{scene.id}: its manifest is not what was stored"]
    scene.blob("{}").unlink()
    assert scene.audit().broken == [f"{scene.id}: its manifest is not what was stored"]


def test_weights_of_another_number_of_steps_are_found(scene: Scene) -> None:
    [found] = scene.audit(steps=STEPS + 1).broken
    assert "undisturbed" in found


def test_an_old_runner_beside_the_next_is_found_unless_it_slept(scene: Scene) -> None:
    scene.saw(1, 2.5, 2.5)
    assert scene.audit().overlapping == [scene.id]
    [first, _] = scene.records.tried()
    assert scene.audit(stopped={first.id}).is_clean
