"""A request that deletes many jobs with files keeps its time; housekeeping does what is left."""

from __future__ import annotations

import hashlib
import os
import time
from typing import Any

import pytest
from sqlalchemy import insert, select

from ipulse_service.background.housekeeping import Housekeeper
from ipulse_service.db import tables
from ipulse_service.files.stored import ORPHAN_SECONDS
from ipulse_service.http.routes.jobs import job_batches
from tests.service.http.routes.test_job_batches import change, crowd
from tests.service.running import InProcess

DOCUMENTED_SECONDS = 8.0  # of one request, see the guide for operators


def with_files(service: InProcess, jobs: int, files: int) -> None:
    """Ended jobs with files of their own."""
    crowd(service, jobs)
    timed(service, "cancel", all=True)
    names = [f"file-{number}" for number in range(files)]
    attempts, artifacts = tables.attempts, tables.artifacts
    with service.database.write() as transaction:
        run, now = transaction.connection.execute, transaction.now
        pks = run(select(tables.jobs.c.pk)).scalars().all()
        attempt = {"number": 1, "agent": "a", "fence_sha256": "0" * 64, "reason": "cancelled"}
        attempt |= dict.fromkeys(("lease_expires_at", "started_at", "finished_at"), now)
        run(insert(attempts), [{**attempt, "id": f"att_{pk:024x}", "job_pk": pk} for pk in pks])
        rows = []
        for job_pk, attempt_pk in run(select(attempts.c.job_pk, attempts.c.pk)).all():
            for number, name in enumerate(names):
                content = f"{job_pk}/{name}".encode()
                row = {"job_pk": job_pk, "attempt_pk": attempt_pk, "name": name, "role": "log"}
                row |= {"id": f"art_{job_pk:012x}{number:012x}", "media_type": "text/plain"}
                row |= {"size": len(content), "sha256": stored(service, content), "created_at": now}
                rows.append(row)
        run(insert(artifacts), rows)


def stored(service: InProcess, content: bytes) -> str:
    sha256 = hashlib.sha256(content).hexdigest()
    path = service.settings.artifacts_dir / "sha256" / sha256[:2] / sha256
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    moment = time.time() - ORPHAN_SECONDS - 60
    os.utime(path, (moment, moment))
    return sha256


def count_of_files(service: InProcess) -> int:
    folder = service.settings.artifacts_dir / "sha256"
    return sum(path.is_file() for path in folder.glob("??/*"))


def timed(service: InProcess, verb: str, **query: Any) -> dict[str, Any]:
    began = time.monotonic()
    result = change(service, verb, **query)
    assert time.monotonic() - began < DOCUMENTED_SECONDS, result
    return result


def test_with_a_slow_store_the_time_is_kept_and_no_file_stays(
    alone: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_files(alone, jobs=10, files=20)
    discard = alone.state.blobs.discard
    with monkeypatch.context() as patch:

        def slow(sha256: str) -> None:
            time.sleep(0.1)  # so that all files would take 20 s
            discard(sha256)

        patch.setattr(alone.state.blobs, "discard", slow)
        patch.setattr(job_batches, "BUDGET_SECONDS", 1.0)
        done = timed(alone, "delete", all=True)
    assert (done["changed"], done["remaining"]) == (10, 0)
    assert alone.user.get("/v1/jobs").json()["jobs"] == []
    assert count_of_files(alone) > 0
    Housekeeper(alone.database, alone.state.blobs, alone.settings).clean_up()
    assert count_of_files(alone) == 0


@pytest.mark.verify
def test_thousands_with_files_are_deleted_by_requests_that_keep_their_time(
    alone: InProcess,
) -> None:
    with_files(alone, jobs=2_000, files=2)
    deleted = remaining = 0
    while not deleted or remaining:
        done = timed(alone, "delete", all=True)
        # One whose time ends with the last job does not know that none remains.
        assert done["changed"] > 0 or not done["remaining"]
        deleted, remaining = deleted + done["changed"], done["remaining"]
    assert deleted == 2_000
    assert alone.user.get("/v1/jobs").json()["jobs"] == []
