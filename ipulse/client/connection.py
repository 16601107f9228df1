"""What both clients share besides the calls: how they connect, remember and wait."""

from __future__ import annotations

import time
from typing import Any, Dict, Optional

import httpx

from ipulse import __version__

from .location import Service
from .resources import Job

LONGEST_ANSWER = 20.0  # seconds that an answer may be waited for while a job runs
PAUSE = 0.1  # seconds between two questions, for a service that cannot hold an answer back
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
        "verify": service.trust or True,
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
    """Divides the time until a deadline: how long the service may hold an answer back, and how
    long to pause before asking again.
    """

    def __init__(self, job_id: str, timeout: Optional[float], answer_timeout: float) -> None:
        self._job_id = job_id
        self._timeout = timeout
        self._longest_answer = min(LONGEST_ANSWER, answer_timeout / 2)
        self._began = time.monotonic()

    def answer_seconds(self) -> int:
        """Whole seconds that the service may take to answer."""
        return int(min(self._longest_answer, max(0.0, self._left())))

    def pause(self, wanted: float = PAUSE) -> float:
        """Seconds until the next question. Raises TimeoutError when there is no time left."""
        left = self._left()
        if left <= 0:
            raise TimeoutError(f"job {self._job_id} has not ended after {self._timeout:g} s")
        return min(wanted, left)

    def _left(self) -> float:
        if self._timeout is None:
            return float("inf")
        return self._timeout - (time.monotonic() - self._began)
