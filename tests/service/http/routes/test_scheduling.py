"""How urgent a job is, how long it may take, and what becomes of it; on both databases."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import select, update

from ipulse_service.db import tables
from ipulse_service.jobs import store
from tests.service.agents import Attempt, phase
from tests.service.conditions import eventually
from tests.service.http.routes.test_submission import check_problem
from tests.service.running import SPEC, InProcess


def submit(service: InProcess, spec: dict[str, Any] = SPEC, **options: int) -> str:
    response = service.user.post("/v1/jobs", json=spec, params=options)
    assert response.status_code == 202, response.text
    return str(response.json()["id"])


def act(service: InProcess, job_id: str, verb: str, **headers: str) -> dict[str, Any]:
    response = service.user.post(f"/v1/jobs/{job_id}/{verb}", headers=headers)
    assert response.status_code == 200, response.text
    job: dict[str, Any] = response.json()
    return job


class TestPause:
    def test_a_queued_job_waits_until_it_is_resumed(self, service: InProcess) -> None:
        job_id = submit(service)
        assert act(service, job_id, "pause")["state"] == "paused"
        assert service.claim(job_id).status_code == 409
        assert service.job(job_id)["waiting_on"]["reason"] == "paused"
        assert act(service, job_id, "resume")["state"] == "queued"
        assert service.attempt(job_id).complete()["state"] == "succeeded"

    def test_a_running_job_stops_at_a_checkpoint_and_continues_from_it(
        self, service: InProcess
    ) -> None:
        job_id = submit(service)
        first = service.attempt(job_id)
        first.report(phase("prepare"), phase("run"))
        assert act(service, job_id, "pause")["state"] == "pausing"
        assert first.heartbeat().json()["cancel"] is True
        first.put("checkpoint-1", "checkpoint", b"weights")
        assert first.finish("cancelled_by_user").json()["state"] == "paused"
        [ended] = service.job(job_id)["attempts"]
        assert ended["reason"] == "paused_by_user"
        assert first.finish("cancelled_by_user").status_code == 200, "a repetition changes nothing"
        act(service, job_id, "resume")
        second = service.attempt(job_id)
        assert second.claim["checkpoint"]["name"] == "checkpoint-1"
        assert second.complete()["state"] == "succeeded"

    def test_an_agent_that_dies_meanwhile_leaves_a_paused_job(self, service: InProcess) -> None:
        job_id = submit(service)
        attempt = service.attempt(job_id)
        act(service, job_id, "pause")
        assert attempt.finish("runner_lost").json()["state"] == "paused"

    def test_a_pause_does_not_use_up_what_may_be_lost(self, service: InProcess) -> None:
        job_id = submit(service)
        for _ in range(service.settings.max_attempts + 1):
            attempt = service.attempt(job_id)
            act(service, job_id, "pause")
            attempt.finish("cancelled_by_user")
            act(service, job_id, "resume")
        assert service.attempt(job_id).finish("runner_lost").json()["state"] == "retry_wait"

    def test_what_is_over_is_neither_paused_nor_resumed(self, service: InProcess) -> None:
        job_id = submit(service)
        act(service, job_id, "cancel")
        for verb in ("pause", "resume"):
            response = service.user.post(f"/v1/jobs/{job_id}/{verb}")
            assert check_problem(response, 409)["code"] == "illegal_transition"

    def test_a_pause_can_still_become_a_cancel(self, service: InProcess) -> None:
        job_id = submit(service)
        attempt = service.attempt(job_id)
        act(service, job_id, "pause")
        assert act(service, job_id, "cancel")["state"] == "cancelling"
        assert attempt.finish("cancelled_by_user").json()["state"] == "cancelled"


class TestDelete:
    def test_nothing_of_it_is_left(self, service: InProcess) -> None:
        job_id = submit(service)
        service.attempt(job_id).complete()
        with service.database.read() as transaction:
            pk = store.get(transaction, job_id).pk
        [artifact] = service.user.get(f"/v1/jobs/{job_id}/artifacts").json()["artifacts"]
        assert service.user.delete(f"/v1/jobs/{job_id}").status_code == 204
        for path in ("", "/events", "/artifacts", f"/artifacts/{artifact['id']}/content"):
            check_problem(service.user.get(f"/v1/jobs/{job_id}{path}"), 404)
        check_problem(service.user.delete(f"/v1/jobs/{job_id}"), 404)
        with service.database.read() as transaction:
            for table in (tables.events, tables.attempts, tables.artifacts, tables.outbox):
                rows = transaction.connection.execute(select(table).where(table.c.job_pk == pk))
                assert rows.all() == []

    def test_a_file_that_another_job_left_too_stays(self, service: InProcess) -> None:
        content = b"the same in both"
        jobs = [submit(service) for _ in range(2)]
        for job_id in jobs:
            attempt = service.attempt(job_id)
            attempt.put("weights", "weights", content)
            attempt.complete()
        path = f"/v1/jobs/{jobs[1]}/artifacts"
        [kept, _] = service.user.get(path).json()["artifacts"]
        assert service.user.delete(f"/v1/jobs/{jobs[0]}").status_code == 204
        assert service.user.get(f"{path}/{kept['id']}/content").content == content
        assert service.user.delete(f"/v1/jobs/{jobs[1]}").status_code == 204
        assert not list(service.settings.artifacts_dir.rglob(kept["sha256"]))

    def test_one_that_has_not_ended_is_kept(self, service: InProcess) -> None:
        response = service.user.delete(f"/v1/jobs/{submit(service)}")
        assert check_problem(response, 409)["code"] == "not_over"


class TestIfMatch:
    @pytest.mark.parametrize("verb", ["cancel", "pause", "resume"])
    def test_a_job_that_changed_since_is_left_alone(self, service: InProcess, verb: str) -> None:
        job_id = submit(service)
        tag = service.user.get(f"/v1/jobs/{job_id}").headers["etag"]
        act(service, job_id, "pause", **{"if-match": tag})
        response = service.user.post(f"/v1/jobs/{job_id}/{verb}", headers={"if-match": tag})
        assert check_problem(response, 412)["code"] == "precondition_failed"
        assert service.job(job_id)["state"] == "paused"

    def test_a_weak_tag_is_no_ground_for_a_change(self, service: InProcess) -> None:
        job_id = submit(service)
        tag = service.user.get(f"/v1/jobs/{job_id}").headers["etag"]
        headers = {"if-match": f"W/{tag}"}
        check_problem(service.user.post(f"/v1/jobs/{job_id}/cancel", headers=headers), 412)
        act(service, job_id, "cancel", **{"if-match": "*"})
        check_problem(service.user.delete(f"/v1/jobs/{job_id}", headers={"if-match": tag}), 412)


class TestPriority:
    def test_the_most_urgent_goes_first_and_the_other_is_not_forgotten(
        self, alone: InProcess
    ) -> None:
        low, high = submit(alone), submit(alone, priority=10)
        assert alone.claim(low).json()["job_id"] == high
        assert alone.claim(high).status_code == 409
        assert alone.claim(low).json()["job_id"] == low

    def test_a_job_whose_attempt_was_lost_keeps_its_queue_position(self, alone: InProcess) -> None:
        jobs = [submit(alone) for _ in range(3)]
        lost = Attempt(alone.worker, alone.claim(jobs[0]).json())
        assert lost.finish("worker_lost").json()["state"] == "retry_wait"
        eventually(lambda: alone.job(jobs[0])["state"] == "queued")
        assert [alone.job(job)["waiting_on"]["position"] for job in jobs] == [1, 2, 3]
        given = [alone.claim(jobs[2]).json()["job_id"] for _ in jobs]
        assert given == jobs, "whichever job a wake-up names"

    def test_a_job_that_was_paused_takes_a_new_one(self, alone: InProcess) -> None:
        jobs = [submit(alone) for _ in range(2)]
        act(alone, jobs[0], "pause")
        act(alone, jobs[0], "resume")
        assert [alone.job(job)["waiting_on"]["position"] for job in jobs] == [2, 1]


class TestDeadline:
    def test_a_job_that_no_agent_takes_in_time_fails(self, service: InProcess) -> None:
        job_id = submit(service, queue_seconds=1)
        job = eventually(lambda: (j := service.job(job_id))["state"] == "failed" and j)
        assert job["reason"] == "deadline_exceeded"
        assert job["message"] == "No agent started the job within 1 s."

    def test_a_job_that_was_taken_is_not_late_in_the_queue(self, service: InProcess) -> None:
        job_id = submit(service, queue_seconds=3600)
        assert service.job(job_id)["deadline_at"] is not None
        attempt = service.attempt(job_id)
        assert service.job(job_id)["deadline_at"] is None
        assert attempt.complete()["state"] == "succeeded"

    @pytest.mark.parametrize("limit", ["run_seconds", "total_seconds"])
    def test_a_job_that_runs_too_long_is_stopped_and_keeps_its_checkpoint(
        self, service: InProcess, limit: str
    ) -> None:
        job_id = submit(service, **{limit: 3600})
        attempt = service.attempt(job_id)
        with service.database.write() as transaction:
            late = update(tables.jobs).where(tables.jobs.c.id == job_id)
            transaction.connection.execute(late.values({limit: 0, "deadline_at": 1}))
        assert attempt.orders(wait=30).json() == {"cancel": True, "finish": False}
        assert service.job(job_id)["state"] == "cancelling"
        assert attempt.put("c", "checkpoint").status_code == 201
        ended = attempt.finish("cancelled_by_user").json()
        assert (ended["state"], ended["reason"]) == ("failed", "deadline_exceeded")
        assert ended["attempts"][0]["reason"] == "deadline_exceeded"

    @pytest.mark.parametrize("wish", [{"priority": 101}, {"run_seconds": 0}, {"hurry": 1}])
    def test_an_invalid_option_is_named(self, service: InProcess, wish: dict[str, int]) -> None:
        problem = check_problem(service.user.post("/v1/jobs", json=SPEC, params=wish), 400)
        assert problem["errors"][0]["pointer"] == f"/query/{next(iter(wish))}"


class TestKeys:
    def test_a_key_expires(self, service: InProcess) -> None:
        headers = {"idempotency-key": "once-a-day"}
        first = service.submit(**headers)["id"]
        assert service.submit(**headers)["id"] == first
        with service.database.write() as transaction:
            keys = tables.idempotency_keys
            of_key = update(keys).where(keys.c.key == "once-a-day")
            transaction.connection.execute(of_key.values(created_at=0))
        second = service.submit(**headers)["id"]
        assert second != first
        assert service.submit(**headers)["id"] == second

    def test_other_options_are_another_request(self, service: InProcess) -> None:
        headers = {"idempotency-key": "the-key-of-two-options"}
        service.submit(**headers)
        response = service.user.post("/v1/jobs", json=SPEC, params={"priority": 1}, headers=headers)
        assert check_problem(response, 422)["code"] == "idempotency_key_reused"


def test_the_polling_interval_is_sent(service: InProcess) -> None:
    job_id = submit(service)
    assert service.user.get(f"/v1/jobs/{job_id}").headers["retry-after"] == "5"
    attempt = service.attempt(job_id)
    assert service.user.get(f"/v1/jobs/{job_id}").headers["retry-after"] == "2"
    attempt.complete()
    assert "retry-after" not in service.user.get(f"/v1/jobs/{job_id}").headers
