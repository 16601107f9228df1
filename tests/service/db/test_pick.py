"""The pick of the next job among very many of many people."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.service import pick
from tests.service.postgresql_server import PostgreSQLServer

LONGEST_MS = 20.0  # of the processor, also the database server's, for 99 of 100


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a database without jobs."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/ipulse.db"
    server: PostgreSQLServer = request.getfixturevalue("postgresql_server")
    return server.new_database()


@pytest.mark.verify
@pytest.mark.alone
@pytest.mark.parametrize("gangs", [False, True], ids=["one processor", "several IPUs"])
def test_a_pick_among_100_000_jobs_of_200_people_is_short(empty_database: str, gangs: bool) -> None:
    rows = pick.measure(empty_database, 100_000, 200, 200, gangs)
    [processor] = [row for row in rows if row["clock"] == "processor"]
    assert float(processor["p99_ms"]) <= LONGEST_MS, processor
