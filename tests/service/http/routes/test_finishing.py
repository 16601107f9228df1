"""Finish now: a running job ends its training and keeps its results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from ipulse.stack.redis_server import RedisServer
from ipulse_core import messages
from ipulse_service.db import tables
from tests.service.agents import PHASES, Attempt, phase
from tests.service.conditions import eventually
from tests.service.http.routes.test_submission import check_problem
from tests.service.running import InProcess, settings_for

pytestmark = pytest.mark.postgresql


def finish(service: InProcess, job_id: str) -> dict[str, Any]:
    response = service.user.post(f"/v1/jobs/{job_id}/finish")
    assert response.status_code == 200, response.text
    job: dict[str, Any] = response.json()
    return job


def running(service: InProcess) -> tuple[str, Attempt]:
    job_id = service.submit()["id"]
    attempt = service.attempt(job_id)
    for name in PHASES[:4]:
        assert attempt.report(phase(name)).status_code == 200
    return job_id, attempt


def finish_early(attempt: Attempt) -> dict[str, Any]:
    attempt.report(phase("report"))
    assert attempt.put("manifest.json", "manifest").status_code == 201
    response = attempt.finish("finished_early", "", epochs_done=1.5)
    assert response.status_code == 200, response.text
    job: dict[str, Any] = response.json()
    return job


def test_the_order_goes_out_once_and_the_job_succeeds(service: InProcess) -> None:
    job_id, attempt = running(service)
    assert attempt.heartbeat().json()["finish"] is False
    first = finish(service, job_id)
    assert (first["state"], first["finish_by"] is None) == ("running", False)
    again = finish(service, job_id)
    assert again["version"] == first["version"], "a repetition changes nothing"
    assert attempt.heartbeat().json()["finish"] is True
    assert attempt.orders(0).json() == {"cancel": False, "finish": True}
    ended = finish_early(attempt)
    assert (ended["state"], ended["reason"]) == ("succeeded", "finished_early")
    assert ended["summary"] == {"epochs_done": 1.5}
    assert attempt.finish("finished_early", "", epochs_done=1.5).status_code == 200
    assert finish(service, job_id)["version"] == ended["version"], "also after the end"


def test_it_wakes_an_agent_that_waits_for_orders(service: InProcess) -> None:
    job_id, attempt = running(service)
    finish(service, job_id)
    assert attempt.orders(30).json()["finish"] is True


def test_a_complete_result_is_required(service: InProcess) -> None:
    job_id, attempt = running(service)
    finish(service, job_id)
    assert check_problem(attempt.finish("finished_early"), 409)["code"] == "incomplete"


def test_a_job_that_misses_a_gate_fails_with_its_results(service: InProcess) -> None:
    job_id, attempt = running(service)
    assert check_problem(attempt.finish("gate_failed"), 409)["code"] == "incomplete"
    attempt.report(phase("report"))
    assert attempt.put("manifest.json", "manifest").status_code == 201
    ended = attempt.finish("gate_failed", "cycles<=1 (it is 2 cycles)", test_accuracy=0.9).json()
    assert (ended["state"], ended["reason"]) == ("failed", "gate_failed")
    assert (ended["id"], ended["summary"]) == (job_id, {"test_accuracy": 0.9})


@pytest.mark.parametrize("state", ["queued", "paused", "cancelling"])
def test_a_job_that_does_not_run_cannot_finish(service: InProcess, state: str) -> None:
    job_id = service.submit()["id"]
    if state == "paused":
        service.user.post(f"/v1/jobs/{job_id}/pause")
    elif state == "cancelling":
        service.attempt(job_id)
        service.user.post(f"/v1/jobs/{job_id}/cancel")
    response = service.user.post(f"/v1/jobs/{job_id}/finish")
    assert check_problem(response, 409)["code"] == "illegal_transition"
    assert service.job(job_id)["state"] == state


def test_a_pause_takes_the_order_back(service: InProcess) -> None:
    job_id, attempt = running(service)
    finish(service, job_id)
    service.user.post(f"/v1/jobs/{job_id}/pause")
    assert attempt.heartbeat().json()["finish"] is False
    assert service.job(job_id)["finish_by"] is None


def test_an_agent_of_an_older_protocol_is_not_asked(service: InProcess) -> None:
    with service.agents() as old:
        old.headers[messages.PROTOCOL_HEADER] = "6"
        service.worker, current = old, service.worker
        try:
            job_id, attempt = running(service)
        finally:
            service.worker = current
        response = service.user.post(f"/v1/jobs/{job_id}/finish")
        assert check_problem(response, 409)["code"] == "agent_too_old"
        assert attempt.finish("diverged").status_code == 200


def test_an_attempt_that_follows_a_lost_one_finishes_at_once(service: InProcess) -> None:
    job_id, attempt = running(service)
    finish(service, job_id)
    attempt.finish("worker_stopped")
    following = service.attempt(job_id)
    assert following.heartbeat().json()["finish"] is True


def test_after_the_grace_time_it_is_cancelled(
    redis_server: RedisServer, tmp_path: Path, database_settings: dict[str, Any]
) -> None:
    settings = settings_for(tmp_path, redis_server.url, finish_seconds=0.2, **database_settings)
    with InProcess(settings) as service:
        with service.database.write() as transaction:  # of other tests in the same database
            transaction.connection.execute(
                update(tables.jobs).values(finish_by=None, deadline_at=None)
            )
        job_id, attempt = running(service)
        finish(service, job_id)
        eventually(lambda: service.job(job_id)["state"] == "cancelling")
        assert attempt.heartbeat().json()["cancel"] is True
        ended = attempt.finish("cancelled_by_user").json()
    assert (ended["state"], ended["reason"]) == ("cancelled", "cancelled_by_user")
    assert ended["message"]
