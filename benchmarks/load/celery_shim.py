"""The bare job service that others are held against: FastAPI, a row in SQLite, a Celery message.

No authentication, no idempotency key, no outbox: a crash between the commit and the message loses
the job, and so does a Redis that forgets. SQLite has its own defaults, thus one fsync a commit.

    uvicorn benchmarks.load.celery_shim:api
    celery -A benchmarks.load.celery_shim:queue worker
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import uuid
from pathlib import Path
from typing import Annotated, Any

from celery import Celery
from fastapi import Body, FastAPI, HTTPException
from fastapi.responses import FileResponse

HOME = Path(os.environ["SHIM_HOME"])
SCHEMA = (
    "create table if not exists job(seq integer primary key, id text unique, state text,"
    " spec text, created real, ended real)"
)
COLUMNS = ("seq", "id", "state", "created", "ended")

queue = Celery("shim", broker=os.environ["SHIM_BROKER"])
queue.conf.task_ignore_result = True
queue.conf.broker_connection_retry_on_startup = True
api = FastAPI()
_local = threading.local()


def database() -> sqlite3.Connection:
    """One connection for each thread of each process: they must not cross a fork."""
    if getattr(_local, "process", None) != os.getpid():
        _local.connection = sqlite3.connect(HOME / "jobs.db", timeout=30)
        _local.connection.execute(SCHEMA)
        _local.process = os.getpid()
    connection: sqlite3.Connection = _local.connection
    return connection


@queue.task(name="run")
def run(job: str) -> None:
    """The job itself does nothing: what is measured is the service."""
    for state in ("running", "succeeded"):
        with database() as connection:
            update = "update job set state=?, ended=? where id=?"
            connection.execute(update, (state, time.time(), job))


@api.post("/jobs", status_code=201)
def submit(spec: Annotated[Any, Body()]) -> dict[str, str]:
    job = uuid.uuid4().hex
    with database() as connection:
        row = (job, "queued", str(spec), time.time())
        connection.execute("insert into job(id, state, spec, created) values(?,?,?,?)", row)
    run.delay(job)
    return {"id": job, "state": "queued"}


@api.get("/jobs/{job}")
def status(job: str) -> dict[str, Any]:
    found = _select("where id=?", job)
    if not found:
        raise HTTPException(404)
    return found[0]


@api.get("/jobs")
def page(limit: int = 100, before: int = 2**62) -> list[dict[str, Any]]:
    return _select("where seq<? order by seq desc limit ?", before, min(limit, 200))


@api.get("/file")
def file() -> FileResponse:
    return FileResponse(HOME / "file")


def _select(rest: str, *values: object) -> list[dict[str, Any]]:
    columns = ", ".join(COLUMNS)
    found = database().execute(f"select {columns} from job {rest}", values)  # noqa: S608 - constants
    return [dict(zip(COLUMNS, row, strict=True)) for row in found]
