"""An agent returns a preempted job, which continues from its checkpoint."""

from __future__ import annotations

import pytest
from sqlalchemy import func, select, update

from ipulse_service.db import tables
from tests.service.agents import Attempt, phase
from tests.service.http.routes.test_queue import announce, claim, waits
from tests.service.http.routes.test_scheduling import submit
from tests.service.people import checked
from tests.service.running import SPEC, InProcess

pytestmark = pytest.mark.postgresql

LONG_MS = 601_000  # for which a job is protected


def running_for_long(service: InProcess) -> tuple[str, Attempt]:
    """A job that others may make stop, and its attempt."""
    checked(service.user.patch("/v1/pools/default", json={"preemption": "priority"}))
    announce(service, "a", "cpu")
    job_id = submit(service)
    attempt = claim(service, "a", "cpu")
    attempt.report(phase("prepare"), phase("run"))
    with service.database.write() as transaction:
        started = tables.attempts.c.started_at
        transaction.connection.execute(update(tables.attempts).values(started_at=started - LONG_MS))
    assert attempt.heartbeat().json()["must_return"] is False
    return job_id, attempt


def test_a_job_that_waits_no_more_stops_no_other(alone: InProcess) -> None:
    _, attempt = running_for_long(alone)
    for _ in range(2):
        high = submit(alone, priority=10)
        alone.state.reaper.reap()
        checked(alone.user.post(f"/v1/jobs/{high}/cancel"))
        assert attempt.heartbeat().json()["must_return"] is False
    submit(alone, priority=10)
    alone.state.reaper.reap()
    assert attempt.heartbeat().json()["must_return"] is True


def test_the_agent_is_told_and_the_log_says_why(alone: InProcess) -> None:
    low, attempt = running_for_long(alone)
    high = submit(alone, priority=10)
    alone.state.reaper.reap()
    assert attempt.heartbeat().json()["must_return"] is True
    assert waits(alone, high)["holder"] == low
    attempt.put("checkpoint-1", "checkpoint", b"weights")
    assert attempt.finish("worker_stopped").json()["state"] in ("retry_wait", "queued")
    assert attempt.finish("worker_stopped").status_code == 200, "a repetition changes nothing"
    assert claim(alone, "a", "cpu").complete()["id"] == high
    alone.state.reaper.reap()
    again = claim(alone, "a", "cpu")
    assert again.claim["checkpoint"]["name"] == "checkpoint-1"
    assert again.complete()["state"] == "succeeded"
    assert [each["reason"] for each in alone.job(low)["attempts"]] == ["preempted", "completed"]
    with alone.database.read() as transaction:
        query = select(func.count()).where(tables.events.c.body.contains(f"for {high}: its prio"))
        assert transaction.connection.execute(query).scalar_one() == 1


def test_the_log_names_nothing_of_another_project(alone: InProcess) -> None:
    """Who sees the job that stops may not see the other one."""
    checked(alone.user.post("/v1/projects", json={"name": "vision"}))
    low, attempt = running_for_long(alone)
    in_vision = {"headers": {"ipulse-project": "vision"}, "params": {"priority": 10}}
    high = checked(alone.user.post("/v1/jobs", json=SPEC, **in_vision))["id"]
    alone.state.reaper.reap()
    assert attempt.heartbeat().json()["must_return"] is True
    attempt.put("checkpoint-1", "checkpoint", b"weights")
    attempt.finish("worker_stopped")
    shown = alone.job(low)
    assert [each["reason"] for each in shown["attempts"]] == ["preempted"]
    for text in (str(shown["attempts"]), str(alone.events(low))):
        assert high not in text
        assert "vision" not in text
