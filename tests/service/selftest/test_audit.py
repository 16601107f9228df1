"""The audit finds what it is there to find: each promise is broken here by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from sqlalchemy import delete, insert, update

from ipulse_service.db import tables
from tests.service.selftest.scene import STEPS, Scene


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def test_a_job_that_was_rerun_and_succeeded_is_fine(scene: Scene) -> None:
    audit = scene.audit()
    assert audit.is_clean, audit
    assert audit.states == {"succeeded": 1}


def test_an_accepted_job_without_a_row_is_lost(scene: Scene) -> None:
    audit = scene.audit(accepted={"key": scene.id, "other": "job_gone"})
    assert audit.lost == ["job_gone (missing)"]


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
    [audit] = scene.audit(steps=STEPS + 1).broken
    assert "undisturbed" in audit


def test_an_old_runner_next_to_the_next_is_found_unless_it_slept(scene: Scene) -> None:
    scene.saw(1, 2.5, 2.5)
    assert scene.audit().overlapping == [scene.id]
    [first, _] = scene.records.tried()
    assert scene.audit(stopped={first.id}).is_clean
