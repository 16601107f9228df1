"""The pick of the next job among very many of many people."""

from __future__ import annotations

import pytest

from benchmarks.service import pick
from ipulse_service.db import migrations
from ipulse_service.db.engine import Database
from tests.service.running import InProcess

pytestmark = pytest.mark.postgresql

LONGEST_MS = 20.0  # of this process's processor, for 99 of 100


@pytest.mark.verify
def test_a_pick_among_100_000_jobs_of_200_people_is_short(service: InProcess) -> None:
    database = Database(service.settings.database_url)
    migrations.upgrade(database)
    pick.fill(database, 100_000, 200)
    worked = sorted(ms for _, ms in pick.picks(database, 200))
    database.close()
    assert worked[-3] <= LONGEST_MS
