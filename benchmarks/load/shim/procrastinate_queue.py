"""Procrastinate: the messages are rows of PostgreSQL.

procrastinate --app benchmarks.load.shim.procrastinate_queue.queue worker
"""

from __future__ import annotations

import functools
import os

import procrastinate

from benchmarks.load.shim import rows

DATABASE = os.environ["SHIM_DATABASE"]
queue = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=DATABASE))


@queue.task(name="run")
def run(job: str) -> None:
    rows.run(job)


def enqueue(job: str) -> None:
    _deferring().configure_task("run").defer(job=job)


@functools.cache
def _deferring() -> procrastinate.App:
    """Another app, because requests are answered by threads and this one's tasks are not."""
    app = procrastinate.App(connector=procrastinate.SyncPsycopgConnector(conninfo=DATABASE))
    app.open()
    return app
