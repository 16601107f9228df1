"""A job of a killed worker is tried again within twenty seconds: a sum of bounds."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import update

from ipulse.spec import parse_spec
from ipulse_core.states import JobState
from ipulse_service.background import reaper
from ipulse_service.db import migrations, tables
from ipulse_service.db.engine import Database
from ipulse_service.jobs import attempts, store, submission
from ipulse_service.jobs.queue import claims
from ipulse_service.settings import Settings
from tests.service.running import SPEC

pytestmark = pytest.mark.postgresql

WANTED = submission.Submission(submission.resolve(parse_spec(SPEC)))

PROMISED_SECONDS = 45.0  # for a dead agent, in listening time
CLAIM_SECONDS = 2.0  # of them are left for the wake-up and a free agent's claim


@pytest.mark.parametrize("losses", range(5))
def test_silence_is_a_part_of_the_wait_however_often_a_job_was_lost(
    database_settings: dict[str, str], tmp_path: Path, losses: int
) -> None:
    settings = Settings(home=tmp_path, max_attempts=10, **database_settings)
    database = Database(settings.database_url)
    migrations.upgrade(database)
    job_id = submission.submit(database, WANTED, "user", None).job.id
    lease_ms = round(settings.lease_seconds * 1000)
    with database.write() as transaction:  # all in one, and so at one moment
        claimed = claims.claim(transaction, job_id, "agent", ["cpu"], settings.lease_seconds)
        job_id = claimed.job.id  # on a server's database another may have been before it
        heard_at = transaction.now - lease_ms - 1
        ran_out = update(tables.attempts).where(tables.attempts.c.id == claimed.attempt.id)
        began = {"next_event": 2}  # a claim whose answer was lost would not count
        transaction.connection.execute(
            ran_out.values(lease_expires_at=heard_at + lease_ms, **began)
        )
        lost = update(tables.jobs).where(tables.jobs.c.id == job_id)
        transaction.connection.execute(lost.values(losses=losses))
        assert [job.id for job in attempts.reap(transaction, settings)] == [job_id]
        assert job_id in [job.id for job in attempts.requeue(transaction)]
        queued = store.get(transaction, job_id)
        assert (queued.state, queued.losses) == (JobState.QUEUED, losses + 1)
        queued_after = (transaction.now - heard_at) / 1000
    database.close()
    # The reaper wakes when a lease expires; after a gap it waits for the grace as well.
    latest = queued_after + reaper.GRACE_SECONDS + CLAIM_SECONDS
    assert latest <= PROMISED_SECONDS


def test_a_loss_that_is_reported_is_waited_out_within_it_too(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    longest = settings.retry_seconds * 2**attempts.DOUBLINGS
    assert longest + reaper.TICK_SECONDS + CLAIM_SECONDS <= PROMISED_SECONDS
