"""Connection options and deadlines, which both clients share."""

from __future__ import annotations

import os
import time
from typing import Any
from urllib.parse import quote

import httpx

from ipulse.client.location import ServiceLocation
from ipulse.stack import tls
from ipulse_core.version import version

LONGEST_ANSWER = 20.0  # seconds for which the service may delay an answer while a job runs
PROJECT_HEADER = "IPUlse-Project"
PAUSE = 0.1  # seconds between two requests, for a service that does not delay answers


def options_for(
    service: ServiceLocation, timeout: float, project: str | None = None
) -> dict[str, Any]:
    """Return arguments for httpx.Client and httpx.AsyncClient.

    What the client adds belongs to `project`, by default to that of IPULSE_PROJECT.
    """
    project = project or os.environ.get("IPULSE_PROJECT")
    return {
        "base_url": service.url,
        "headers": {
            "Authorization": f"Bearer {service.token}",
            "Accept": "application/json",
            "User-Agent": f"ipulse/{version()}",
            **({PROJECT_HEADER: quote(project)} if project else {}),
        },
        "timeout": httpx.Timeout(timeout),
        "verify": tls.trust_from(service.url, service.trust),
        # A proxy from the environment cannot reach an address of this machine.
        "trust_env": not service.is_local,
        # A redirect would send the token to another host.
        "follow_redirects": False,
    }


class WaitDeadline:
    """A deadline for a job's end: how long the service may delay an answer, and when to retry."""

    def __init__(self, job_id: str, timeout: float | None, answer_timeout: float) -> None:
        """Start the time; `timeout` None means no deadline."""
        self._job_id = job_id
        self._timeout = timeout
        self._longest_answer = min(LONGEST_ANSWER, answer_timeout / 2)
        self._began = time.monotonic()

    def answer_seconds(self) -> int:
        """Return the whole seconds for which the service may delay its answer."""
        return int(min(self._longest_answer, max(0.0, self._left())))

    def pause(self, wanted: float = PAUSE) -> float:
        """Return the seconds until the next request. Raises TimeoutError after the deadline."""
        left = self._left()
        if left <= 0:
            raise TimeoutError(f"job {self._job_id} has not ended after {self._timeout:g} s")
        return min(wanted, left)

    def _left(self) -> float:
        if self._timeout is None:
            return float("inf")
        return self._timeout - (time.monotonic() - self._began)
