"""The message to agents that a job is queued."""

from __future__ import annotations

from typing import NamedTuple


class WakeUp(NamedTuple):
    """A message that makes an agent claim a job."""

    job_id: str
    device: str
