"""What an agent is told when a job is queued."""

from __future__ import annotations

from typing import NamedTuple


class WakeUp(NamedTuple):
    """One message to send: look at this job."""

    job_id: str
    device: str
