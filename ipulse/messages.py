"""What service and workers must agree on about the queue: names, and nothing else.

A message is a wake-up that says "look at job X". The row in the database is the job.
"""

from __future__ import annotations

TASK = "ipulse.look_at_job"  # the one task that workers accept; its one argument is a job id


def queue_of(device_kind: str) -> str:
    """The queue that agents for this kind of device listen on."""
    return f"ipulse.{device_kind}"
