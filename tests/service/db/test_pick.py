"""The pick of the next job among very many of many people."""

from __future__ import annotations

import pytest

from benchmarks.service import pick
from tests.service.running import InProcess

pytestmark = pytest.mark.postgresql

LONGEST_MS = 20.0  # of the processor, also the database server's, for 99 of 100


@pytest.mark.verify
@pytest.mark.parametrize("gangs", [False, True], ids=["one processor", "several IPUs"])
def test_a_pick_among_100_000_jobs_of_200_people_is_short(service: InProcess, gangs: bool) -> None:
    rows = pick.measure(service.settings.database_url, 100_000, 200, 200, gangs)
    [processor] = [row for row in rows if row["clock"] == "processor"]
    assert float(processor["p99_ms"]) <= LONGEST_MS, processor
