"""The suite's processes have wrong clocks, and a database's clock that the suite sets."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ipulse_service.selftest.database_clock import DatabaseClock
from ipulse_service.selftest.testbed import SKEWED

READ = """
import sqlite3
from sqlalchemy import create_engine
from ipulse_service.db.sqlite import SQLite
print(create_engine("sqlite://").connect().exec_driver_sql("SELECT " + SQLite.clock).scalar())
"""


@pytest.mark.parametrize("seconds", [0.0, 5 * 3600.0, -30 * 365 * 86_400.0])
def test_sqlites_clock_is_wrong_by_what_was_set(tmp_path: Path, seconds: float) -> None:
    clock = DatabaseClock(tmp_path, None)
    clock.prepare()
    clock.set(seconds)
    path = os.pathsep.join([str(SKEWED), *sys.path])
    environment = {**os.environ, **clock.environment, "PYTHONPATH": path}
    before = time.time()
    done = subprocess.run(
        [sys.executable, "-c", READ], env=environment, capture_output=True, text=True, check=True
    )
    after = time.time()
    assert before + seconds - 0.01 <= int(done.stdout) / 1000 <= after + seconds + 0.01
