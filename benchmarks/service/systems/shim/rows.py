"""The jobs as rows in SQLite."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from benchmarks.service.payload import Order, carry_out

HOME = Path(os.environ["SHIM_HOME"])
SCHEMA = (
    "create table if not exists job(seq integer primary key, id text unique, state text,"
    " spec text, created real, ended real)"
)
COLUMNS = ("seq", "id", "state", "created", "ended")
_local = threading.local()


def database() -> sqlite3.Connection:
    """Return one connection per thread and process: connections must not cross a fork."""
    if getattr(_local, "process", None) != os.getpid():
        _local.connection = sqlite3.connect(HOME / "jobs.db", timeout=30)
        _local.connection.execute(SCHEMA)
        _local.process = os.getpid()
    connection: sqlite3.Connection = _local.connection
    return connection


def add(job: str, order: str) -> None:
    """Store a queued job."""
    with database() as connection:
        row = (job, "queued", order, time.time())
        connection.execute("insert into job(id, state, spec, created) values(?,?,?,?)", row)


def select(rest: str, *values: object) -> list[dict[str, Any]]:
    """Return the jobs that the end of a query selects."""
    columns = ", ".join(COLUMNS)
    found = database().execute(f"select {columns} from job {rest}", values)  # noqa: S608 - constants
    return [dict(zip(COLUMNS, row, strict=True)) for row in found]


def run(job: str) -> None:
    """Run a job in the worker, or as a process if its order says so."""
    (text,) = database().execute("select spec from job where id=?", (job,)).fetchone()
    _set_state(job, "running")
    order = Order.from_json(text)
    succeeded = True
    if order.inline:
        carry_out(order)
    else:
        command = [sys.executable, "-m", "benchmarks.service.payload", text]
        succeeded = subprocess.run(command).returncode == 0
    _set_state(job, "succeeded" if succeeded else "failed")


def _set_state(job: str, state: str) -> None:
    with database() as connection:
        update = "update job set state=?, ended=? where id=?"
        connection.execute(update, (state, time.time(), job))
