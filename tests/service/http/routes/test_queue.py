"""The place of a job in the queue, what it waits for, and who gets it; on both databases."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from sqlalchemy import update

from ipulse_service.db import tables
from tests.service.agents import Attempt, phase
from tests.service.http.routes.test_scheduling import act, submit
from tests.service.http.routes.test_submission import check_problem
from tests.service.running import SPEC, InProcess

pytestmark = pytest.mark.postgresql

ON_EMULATOR = {**SPEC, "device": {"kind": "emulator"}}
BOTH = ("cpu", "emulator")
MINUTE = 60_000  # ms


def announce(service: InProcess, agent: str, *kinds: str, **more: Any) -> None:
    body = {"agent": agent, "device_kinds": list(kinds), **more}
    response = service.worker.post("/v1/worker/agents", json=body)
    assert response.status_code == 204, response.text


def claim(service: InProcess, agent: str, *kinds: str, job_id: str | None = None) -> Attempt:
    body = {"job_id": job_id, "agent": agent, "device_kinds": list(kinds)}
    response = service.worker.post("/v1/worker/claims", json=body)
    assert response.status_code == 200, response.text
    return Attempt(service.worker, response.json())


def waits(service: InProcess, job_id: str) -> dict[str, Any]:
    waiting: dict[str, Any] = service.job(job_id)["waiting_on"]
    return waiting


def history(service: InProcess, minutes: float, jobs: int = 3) -> None:
    """Leave jobs that have taken so long."""
    for _ in range(jobs):
        submit(service)
        claim(service, "former", "cpu").complete()
    with service.database.write() as transaction:
        took = f'{{"run": {round(minutes * MINUTE)}}}'
        transaction.connection.execute(update(tables.jobs).values(phase_ms=took))


def seconds_between(earlier: str, later: str) -> float:
    return (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds()


class TestOneOrder:
    def test_an_agent_with_two_devices_gets_the_more_urgent_job(self, alone: InProcess) -> None:
        low = submit(alone, ON_EMULATOR, priority=0)
        high = submit(alone, priority=100)
        given = [claim(alone, "a", *BOTH, job_id=low).claim["job_id"] for _ in range(2)]
        assert given == [high, low]

    def test_the_order_of_submission_holds_across_devices(self, alone: InProcess) -> None:
        jobs = [submit(alone, spec) for spec in (SPEC, ON_EMULATOR, ON_EMULATOR, SPEC)]
        assert [waits(alone, job)["position"] for job in jobs] == [1, 1, 2, 2], "no agent"
        announce(alone, "a", *BOTH)
        assert [waits(alone, job)["position"] for job in jobs] == [1, 2, 3, 4]
        assert [waits(alone, job)["of"] for job in jobs] == [4] * 4
        assert [claim(alone, "a", *BOTH).claim["job_id"] for _ in jobs] == jobs

    def test_a_wake_up_for_a_job_that_is_not_the_first_is_sent_again(
        self, alone: InProcess
    ) -> None:
        first, second = submit(alone), submit(alone, ON_EMULATOR)
        assert claim(alone, "a", *BOTH, job_id=second).claim["job_id"] == first
        assert claim(alone, "a", *BOTH, job_id=second).claim["job_id"] == second

    def test_nobody_gets_a_device_that_it_does_not_have(self, alone: InProcess) -> None:
        submit(alone, ON_EMULATOR, priority=100)
        on_cpu = submit(alone)
        assert claim(alone, "a", "cpu").claim["job_id"] == on_cpu
        body = {"agent": "a", "device_kinds": ["cpu"]}
        problem = check_problem(alone.worker.post("/v1/worker/claims", json=body), 409)
        assert problem["code"] == "not_claimable"

    def test_a_job_passes_over_agents_that_lack_something(self, alone: InProcess) -> None:
        shd = {**SPEC, "data": {"kind": "shd", "steps": 10}}
        announce(alone, "with", "cpu", data_sets=["shd/shd"])
        announce(alone, "without", "cpu", data_sets=["npz/mine"])
        first, second = submit(alone, shd, priority=5), submit(alone)
        assert waits(alone, first)["reason"] == waits(alone, second)["reason"] == "wake_up"
        assert claim(alone, "without", "cpu", job_id=first).claim["job_id"] == second
        assert claim(alone, "with", "cpu").claim["job_id"] == first


class TestWaitingOn:
    def test_it_names_what_holds_the_agent_whatever_device_it_uses(self, alone: InProcess) -> None:
        announce(alone, "a", *BOTH)
        held = submit(alone)
        claim(alone, "a", *BOTH)
        on = waits(alone, submit(alone, ON_EMULATOR))
        assert (on["reason"], on["holder"], on["holder_device"]) == ("device_busy", held, "cpu")
        assert on["position"] == 1
        assert on["estimated_start"] is None, "nothing is known of its duration"

    def test_with_two_agents_it_names_the_one_that_is_waited_for(self, alone: InProcess) -> None:
        announce(alone, "a", "cpu")
        announce(alone, "b", "emulator")
        submit(alone)
        claim(alone, "a", "cpu")
        emulated = submit(alone, ON_EMULATOR)
        claim(alone, "b", "emulator")
        assert waits(alone, submit(alone, ON_EMULATOR))["holder"] == emulated

    def test_one_agent_that_is_free_starts_one_job(self, alone: InProcess) -> None:
        announce(alone, "a", *BOTH)
        jobs = [submit(alone), submit(alone, ON_EMULATOR)]
        assert [waits(alone, job)["reason"] for job in jobs] == ["wake_up", "behind"]

    def test_a_more_urgent_job_goes_before(self, alone: InProcess) -> None:
        announce(alone, "a", "cpu")
        held = submit(alone)
        claim(alone, "a", "cpu")
        low, high = submit(alone), submit(alone, priority=1)
        both = [waits(alone, job) for job in (high, low)]
        assert [on["position"] for on in both] == [1, 2]
        assert {on["reason"] for on in both} == {"device_busy"}
        assert {on["holder"] for on in both} == {held}

    def test_without_an_agent_that_is_said(self, alone: InProcess) -> None:
        on = waits(alone, submit(alone))
        assert (on["reason"], on["position"], on["holder"]) == ("no_agent", 1, None)

    def test_a_device_in_quarantine_is_no_device(self, alone: InProcess) -> None:
        job = submit(alone)
        announce(alone, "a", "cpu", "ipu", quarantined=["cpu"])
        assert waits(alone, job)["reason"] == "quarantine"
        announce(alone, "b", "cpu", "ipu")
        assert waits(alone, job)["reason"] == "wake_up"

    def test_an_agent_that_lacks_something_is_no_agent(self, alone: InProcess) -> None:
        job = submit(alone, {**SPEC, "device": {"kind": "emulator", "ipus": 64}})
        announce(alone, "a", "emulator", ipus={"emulator": 4})
        on = waits(alone, job)
        assert on["reason"] == "no_match"
        assert "64" in on["detail"]
        assert "4" in on["detail"]

    def test_an_agent_that_does_not_answer_is_found_out(self, alone: InProcess) -> None:
        announce(alone, "a", "cpu")
        job = submit(alone)
        assert waits(alone, job)["reason"] == "wake_up"
        with alone.database.write() as transaction:
            long_ago = transaction.now - 7000
            transaction.connection.execute(update(tables.jobs).values(state_since=long_ago))
            transaction.connection.execute(update(tables.agents).values(since=long_ago))
        on = waits(alone, job)
        assert on["reason"] == "no_agent"
        assert "a" in on["detail"].split()

    def test_the_start_is_estimated_from_what_such_jobs_took(self, alone: InProcess) -> None:
        history(alone, minutes=10)
        announce(alone, "a", "cpu")
        held = submit(alone)
        claim(alone, "a", "cpu")
        begun = alone.job(held)["started_at"]
        later = [waits(alone, submit(alone))["estimated_start"] for _ in range(3)]
        assert [seconds_between(begun, start) for start in later] == [600, 1200, 1800]

    def test_an_estimate_is_never_in_the_past(self, alone: InProcess) -> None:
        history(alone, minutes=0.0001)
        announce(alone, "a", "cpu")
        submit(alone)
        attempt = claim(alone, "a", "cpu")
        attempt.report(phase("prepare"), phase("compile"), phase("acquire"), phase("run"))
        waiting = submit(alone)
        assert waits(alone, waiting)["estimated_start"] is None, "it should be over already"
        metric = {"epoch": 1, "epochs": 2, "step": 5, "steps": 10, "values": {}}
        attempt.report({"kind": "metric", **metric, "eta_seconds": 60.0})
        updated = alone.job(attempt.claim["job_id"])["updated_at"]
        assert seconds_between(updated, waits(alone, waiting)["estimated_start"]) == 60

    def test_what_waits_for_another_attempt_starts_no_earlier_than_now(
        self, alone: InProcess
    ) -> None:
        job = submit(alone)
        with alone.database.write() as transaction:
            transaction.connection.execute(
                update(tables.jobs).values(state="retry_wait", due_at=transaction.now + 10**6)
            )
            now = transaction.now
        start = waits(alone, job)["estimated_start"]
        assert datetime.fromisoformat(start).timestamp() * 1000 >= now


class TestChangePriority:
    def test_it_changes_the_order_and_the_log_says_so(self, alone: InProcess) -> None:
        jobs = [submit(alone), submit(alone)]
        tag = alone.user.get(f"/v1/jobs/{jobs[1]}").headers["etag"]
        headers = {"if-match": tag}
        url = f"/v1/jobs/{jobs[1]}"
        response = alone.user.patch(url, json={"priority": -3}, headers=headers)
        assert response.status_code == 200, response.text
        assert response.json()["priority"] == -3
        assert response.headers["etag"] != tag
        check_problem(alone.user.patch(url, json={"priority": 7}, headers=headers), 412)
        assert alone.user.patch(url, json={"priority": 7}).json()["priority"] == 7
        log = alone.user.get(f"{url}/log").text.splitlines()
        assert len(log) == 2
        assert "7" in log[1]
        assert claim(alone, "a", "cpu").claim["job_id"] == jobs[1]

    def test_the_same_priority_changes_nothing(self, alone: InProcess) -> None:
        url = f"/v1/jobs/{submit(alone, priority=5)}"
        tag = alone.user.get(url).headers["etag"]
        assert alone.user.patch(url, json={"priority": 5}).headers["etag"] == tag

    def test_a_job_that_has_ended_has_none(self, alone: InProcess) -> None:
        job = submit(alone)
        act(alone, job, "cancel")
        response = alone.user.patch(f"/v1/jobs/{job}", json={"priority": 5})
        assert check_problem(response, 409)["code"] == "illegal_transition"

    @pytest.mark.parametrize(
        "body", [{}, {"priority": 101}, {"priority": True}, {"priority": "5"}, {"nothing": "x"}, []]
    )
    def test_a_wrong_body_is_refused(self, alone: InProcess, body: object) -> None:
        check_problem(alone.user.patch(f"/v1/jobs/{submit(alone)}", json=body), 422)
