"""Celery over Redis. SHIM_DURABLE=1 keeps a message until its task is done.

celery -A benchmarks.service.systems.shim.celery_queue:queue worker
"""

from __future__ import annotations

import os

from celery import Celery

from benchmarks.service.systems.shim import rows

queue = Celery("shim", broker=os.environ["SHIM_BROKER"])
queue.conf.task_ignore_result = True
queue.conf.broker_connection_retry_on_startup = True
if os.environ.get("SHIM_DURABLE"):
    queue.conf.task_acks_late = True
    queue.conf.task_reject_on_worker_lost = True
    queue.conf.worker_prefetch_multiplier = 1


@queue.task(name="run")
def run(job: str) -> None:
    """Run a job."""
    rows.run(job)
