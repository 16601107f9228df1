"""An attempt from its submission to its end, and what a test may do to it meanwhile."""

from __future__ import annotations

import time

from ipulse_worker.agent.agent import Agent

from .fake_service import FakeService


def attempt(service: FakeService, agent: Agent, behaviour: str, **options: object) -> str:
    """Submits a job, has the agent look at it, and returns the job's id when that is over."""
    job_id = service.submit(behaviour, **options)
    agent.run_job(job_id)
    return job_id


def logged_pid(service: FakeService, job_id: str, what: str) -> int:
    """The process id in a log line such as `pid 123`, once it is there."""

    def found() -> list[str]:
        attempts = service.job(job_id).attempts
        return [m for a in attempts for m in a.messages("runner") if m.startswith(what)]

    service.wait_for(found)
    return int(found()[-1].split()[1])


def end_lease(agent: Agent) -> None:
    """As if it had been long since the service last renewed it."""
    assert agent._attempt is not None
    agent._attempt._lease.renew(0.0, time.monotonic())
