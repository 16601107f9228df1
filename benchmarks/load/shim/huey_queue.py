"""Huey over Redis: a message is gone when a worker takes it.

huey_consumer benchmarks.load.shim.huey_queue.queue
"""

from __future__ import annotations

import os

from huey import RedisHuey
from redis import ConnectionPool, UnixDomainSocketConnection

from benchmarks.load.shim import rows

_path = os.environ["SHIM_BROKER"].partition("://")[2]
_pool = ConnectionPool(connection_class=UnixDomainSocketConnection, path=_path)
queue = RedisHuey("shim", connection_pool=_pool, results=False)


@queue.task()
def run(job: str) -> None:
    rows.run(job)


def enqueue(job: str) -> None:
    run(job)
