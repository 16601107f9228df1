"""What both clients share besides the calls: how they connect, remember and wait."""

from __future__ import annotations

import time
from typing import Any, Dict, Optional

import httpx

from ipulse import __version__

from .location import Service
from .resources import Job

REMEMBERED = 256  # jobs whose last answer is kept, so that polling one costs the service nothing


def options_for(service: Service, timeout: float) -> Dict[str, Any]:
    """Arguments of httpx.Client and httpx.AsyncClient alike."""
    return {
        "base_url": service.url,
        "headers": {
            "Authorization": f"Bearer {service.token}",
            "Accept": "application/json",
            "User-Agent": f"ipulse/{__version__}",
        },
        "timeout": httpx.Timeout(timeout),
        # A proxy of the environment cannot reach this machine's own address.
        "trust_env": not service.is_local,
        # A redirect would carry the token wherever it points.
        "follow_redirects": False,
    }


def remember(known: Dict[str, Job], job: Job) -> None:
    """Keeps a job's last answer, and forgets the one longest unasked for."""
    known.pop(job.id, None)
    known[job.id] = job
    if len(known) > REMEMBERED:
        del known[next(iter(known))]


class Patience:
    """Pauses between two looks at a job: short at first, never past the deadline."""

    def __init__(self, job_id: str, timeout: Optional[float]) -> None:
        self._job_id = job_id
        self._timeout = timeout
        self._began = time.monotonic()

    def pause(self) -> float:
        """Seconds until the next look. Raises TimeoutError when there is no time left."""
        waited = time.monotonic() - self._began
        pause = min(2.0, max(0.1, waited / 10))
        if self._timeout is None:
            return pause
        left = self._timeout - waited
        if left <= 0:
            raise TimeoutError(f"job {self._job_id} has not ended after {self._timeout:g} s")
        return min(pause, left)
