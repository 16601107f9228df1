"""Unused rows and files are deleted, used ones stay; on both databases."""

from __future__ import annotations

import hashlib
import os
import threading
from pathlib import Path

import pytest
from sqlalchemy import select, update

from ipulse_service.agents import registry
from ipulse_service.agents.known_agent import KnownAgent
from ipulse_service.background.housekeeping import Housekeeper
from ipulse_service.db import tables
from ipulse_service.files.partial_upload import StoreTrouble
from ipulse_service.files.stored import ORPHAN_SECONDS
from tests.service.conditions import DEADLINE_SECONDS
from tests.service.running import InProcess

pytestmark = pytest.mark.postgresql

OLD = ORPHAN_SECONDS + 60


def stored(service: InProcess, content: bytes) -> Path:
    sha256 = hashlib.sha256(content).hexdigest()
    return service.settings.artifacts_dir / "sha256" / sha256[:2] / sha256


def age(path: Path) -> None:
    moment = path.stat().st_mtime - OLD
    os.utime(path, (moment, moment))


def housekeeper(service: InProcess, retention_days: float = 0.0) -> Housekeeper:
    settings = service.settings.model_copy(update={"retention_days": retention_days})
    return Housekeeper(service.database, service.state.blobs, settings)


def test_a_file_without_a_row_goes_once_it_is_old_and_one_with_a_row_stays(
    service: InProcess,
) -> None:
    attempt = service.attempt(service.submit()["id"])
    attempt.put("weights", "weights", b"referred to")
    orphans = [stored(service, content) for content in (b"old", b"young")]
    for path in orphans:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"left by a crash")
    age(orphans[0])
    age(stored(service, b"referred to"))
    housekeeper(service).clean_up()
    assert [path.exists() for path in orphans] == [False, True]
    assert stored(service, b"referred to").exists()
    orphans[1].unlink()


def test_a_replaced_checkpoint_that_could_not_be_removed_goes_once_it_is_old(
    service: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = threading.Event()

    def fail(_sha256: str) -> None:
        tried.set()
        raise StoreTrouble("the disk fails")

    attempt = service.attempt(service.submit()["id"])
    with monkeypatch.context() as patched:
        patched.setattr(service.state.blobs, "discard", fail)
        for content in (b"epoch 1", b"epoch 2"):
            assert attempt.put("c", "checkpoint", content).status_code == 201
        assert tried.wait(DEADLINE_SECONDS)
    for content in (b"epoch 1", b"epoch 2"):
        age(stored(service, content))
    housekeeper(service).clean_up()
    assert not stored(service, b"epoch 1").exists()
    assert stored(service, b"epoch 2").exists()


def test_a_job_past_its_retention_goes_with_its_files(service: InProcess) -> None:
    old, young, queued = (service.submit()["id"] for _ in range(3))
    for job_id, content in ((old, b"of the old one"), (young, b"of the young one")):
        attempt = service.attempt(job_id)
        attempt.put("weights", "weights", content)
        attempt.complete()
    with service.database.write() as transaction:
        long_ago = update(tables.jobs).where(tables.jobs.c.id.in_([old, queued]))
        transaction.connection.execute(long_ago.values(created_at=0))
        of_old = update(tables.jobs).where(tables.jobs.c.id == old)
        transaction.connection.execute(of_old.values(finished_at=0))
    housekeeper(service).clean_up()
    assert service.job(old)["state"] == "succeeded", "nothing goes unless it was asked for"
    housekeeper(service, retention_days=1.0).clean_up()
    assert service.user.get(f"/v1/jobs/{old}").status_code == 404
    assert not stored(service, b"of the old one").exists()
    assert service.job(young)["state"] == "succeeded"
    assert stored(service, b"of the young one").exists()
    assert service.job(queued)["state"] == "queued"


def test_keys_go_when_they_have_expired(service: InProcess) -> None:
    service.submit(**{"idempotency-key": "old"})
    service.submit(**{"idempotency-key": "young"})
    keys = tables.idempotency_keys
    with service.database.write() as transaction:
        transaction.connection.execute(update(keys).where(keys.c.key == "old").values(created_at=0))
    housekeeper(service).clean_up()
    with service.database.read() as transaction:
        left = transaction.connection.execute(select(keys.c.key)).scalars().all()
    assert "young" in left
    assert "old" not in left


def test_agents_that_were_silent_for_a_week_are_forgotten(service: InProcess) -> None:
    with service.database.write() as transaction:
        registry.announce(transaction, KnownAgent("silent", ("cpu",)))
        registry.announce(transaction, KnownAgent("there", ("cpu",)))
        rows = tables.agents
        silent = update(rows).where(rows.c.name == "silent")
        transaction.connection.execute(silent.values(seen_at=0))
    housekeeper(service).clean_up()
    with service.database.read() as transaction:
        left = transaction.connection.execute(select(rows.c.name)).scalars().all()
    assert "there" in left
    assert "silent" not in left
