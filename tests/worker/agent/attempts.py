"""Helpers that run attempts and interfere with them."""

from __future__ import annotations

import time

from ipulse_worker.agent.agent import Agent

from .fake_service import FakeService


def attempt(service: FakeService, agent: Agent, behaviour: str, **options: object) -> str:
    """Submit a job, run it in the agent, and return its id after the attempt."""
    job_id = service.submit(behaviour, **options)
    agent.run_job(job_id)
    return job_id


def logged_pid(service: FakeService, job_id: str, what: str) -> int:
    """Wait for a log line such as `pid 123` and return the process id."""

    def actual() -> list[str]:
        attempts = service.job(job_id).attempts
        return [m for a in attempts for m in a.messages("runner") if m.startswith(what)]

    service.wait_for(actual)
    return int(actual()[-1].split()[1])


def end_lease(agent: Agent) -> None:
    """Expire the lease as if the service had not renewed it for long."""
    assert agent._attempt is not None
    agent._attempt._lease.renew(0.0, time.monotonic())
