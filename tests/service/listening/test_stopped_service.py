"""No lease ends while a service is stopped, at any replica."""

from __future__ import annotations

import signal
import time

import pytest

from tests.service.conditions import eventually
from tests.service.running import Program
from tests.service.test_program import log_lines

STOPPED_SECONDS = 20.0

pytestmark = pytest.mark.verify


def test_a_service_that_was_stopped_ends_no_lease(replicas: list[Program]) -> None:
    """Nor does the other replica, to which its agents do not talk."""
    first = replicas[0]
    attempt = first.attempt(first.submit()["id"])
    assert first.process is not None
    first.process.send_signal(signal.SIGSTOP)
    time.sleep(STOPPED_SECONDS)
    first.process.send_signal(signal.SIGCONT)
    eventually(lambda: attempt.heartbeat().status_code == 200)
    job = first.job(attempt.claim["job_id"])
    assert (job["state"], job["attempt"]) == ("preparing", 1)
    for each in replicas:
        assert "lease_expired" not in [line["action"] for line in log_lines(each)]
