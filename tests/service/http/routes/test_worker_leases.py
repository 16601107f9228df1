"""Only the holder of a lease may report for an attempt, and a silent holder loses it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from ipulse.stack.redis_server import RedisServer
from ipulse_service.db import tables
from ipulse_service.jobs import losses
from tests.service.agents import Attempt, line
from tests.service.conditions import eventually
from tests.service.conftest import LEASE_SECONDS
from tests.service.http.routes.test_submission import check_problem
from tests.service.running import InProcess, settings_for

pytestmark = pytest.mark.postgresql

MAX_ATTEMPTS = 3


@pytest.fixture(scope="module")
def hasty(
    redis_server: RedisServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[InProcess]:
    """A service with short retries and leases that expire when a test makes them."""
    settings = settings_for(
        tmp_path_factory.mktemp("hasty"),
        redis_server.url,
        lease_seconds=LEASE_SECONDS,
        retry_seconds=0.02,
        max_attempts=MAX_ATTEMPTS,
    )
    with InProcess(settings) as running:
        yield running


def every_word(attempt: Attempt) -> dict[str, Any]:
    """The answers to everything that the holder of an attempt can say."""
    return {
        "heartbeat": attempt.heartbeat(),
        "events": attempt.report(line("late")),
        "artifact": attempt.put("late.bin", "weights", b"late"),
        "finish": attempt.finish("runner_error", "late"),
    }


def check_refused(attempt: Attempt) -> None:
    for word, response in every_word(attempt).items():
        assert check_problem(response, 409)["code"] == "stale_token", word


class TestFence:
    def test_a_wrong_token_opens_nothing(self, service: InProcess) -> None:
        attempt = service.attempt(service.submit()["id"])
        attempt.fence = "wrong"
        check_refused(attempt)
        assert service.job(attempt.claim["job_id"])["state"] == "preparing"

    def test_the_token_of_another_attempt_opens_nothing(self, service: InProcess) -> None:
        first, second = (service.attempt(service.submit()["id"]) for _ in range(2))
        first.fence = second.fence
        check_refused(first)

    def test_a_missing_token_is_named(self, service: InProcess) -> None:
        attempt = service.attempt(service.submit()["id"])
        response = service.worker.post(f"{attempt.path}/heartbeat", json={})
        problem = check_problem(response, 400)
        assert problem["errors"][0]["pointer"].lower() == "/header/ipulse-fence"

    def test_an_attempt_that_ended_reports_no_more(self, service: InProcess) -> None:
        attempt = service.attempt(service.submit()["id"])
        job = attempt.complete()
        check_refused(attempt)
        assert service.job(job["id"]) == job

    def test_a_lost_attempt_that_wakes_up_changes_nothing(self, hasty: InProcess) -> None:
        lost = hasty.attempt(hasty.submit()["id"])
        hasty.expire_leases()
        successor = hasty.attempt(lost.claim["job_id"])
        check_refused(lost)
        assert successor.heartbeat().status_code == 200
        successor.finish("diverged")

    @pytest.mark.parametrize("odd", ["att_", "att_" + "0" * 24, "..", "%00", "x" * 300])
    def test_an_id_of_no_attempt_is_not_found(self, service: InProcess, odd: str) -> None:
        headers = {"ipulse-fence": "x"}
        path = f"/v1/worker/attempts/{odd}/heartbeat"
        check_problem(service.worker.post(path, json={}, headers=headers), 404)

    def test_the_token_is_not_in_the_database(self, service: InProcess) -> None:
        attempt = service.attempt(service.submit()["id"])
        for path in service.settings.home.glob("ipulse.db*"):
            assert attempt.fence.encode() not in path.read_bytes()


class TestLoss:
    """Infrastructure that is lost costs an attempt, not the job."""

    @pytest.mark.parametrize("reason", ["runner_lost", "worker_lost", "worker_stopped"])
    def test_the_next_attempt_resumes_from_the_last_checkpoint(
        self, hasty: InProcess, reason: str
    ) -> None:
        first = hasty.attempt(hasty.submit()["id"])
        first.put("one.ckpt", "checkpoint", b"epoch 1")
        first.put("two.ckpt", "checkpoint", b"epoch 2")
        first.finish(reason, "the machine went away")
        second = hasty.attempt(first.claim["job_id"])
        assert second.claim["attempt"] == 2
        checkpoint = second.claim["checkpoint"]
        assert checkpoint["name"] == "two.ckpt"
        assert checkpoint["sha256"] == hashlib.sha256(b"epoch 2").hexdigest()
        path = f"/v1/jobs/{first.claim['job_id']}/artifacts/{checkpoint['artifact_id']}/content"
        assert hasty.worker.get(path).content == b"epoch 2"
        job = second.complete()
        assert [attempt["reason"] for attempt in job["attempts"]] == [reason, "completed"]

    def test_a_silent_agent_loses_its_job_to_the_next(self, hasty: InProcess) -> None:
        silent = hasty.attempt(hasty.submit()["id"])
        silent.put("one.ckpt", "checkpoint", b"epoch 1")
        hasty.expire_leases()
        successor = hasty.attempt(silent.claim["job_id"])
        assert successor.claim["checkpoint"]["name"] == "one.ckpt"
        events = hasty.events(silent.claim["job_id"], kind="state")["events"]
        states = [(event["state"], event["reason"]) for event in events]
        assert states == [
            ("queued", None),
            ("preparing", None),
            ("retry_wait", "worker_lost"),
            ("queued", "worker_lost"),
            ("preparing", None),
        ]
        successor.finish("diverged")

    def test_an_agent_with_heartbeats_keeps_the_job(self, hasty: InProcess) -> None:
        held, silent = (hasty.attempt(hasty.submit()["id"]) for _ in range(2))

        def set_lease(attempt: Attempt, seconds: float) -> None:
            this = tables.attempts.c.id == attempt.claim["attempt_id"]
            with hasty.database.write() as transaction:
                until = transaction.now + round(seconds * 1000)
                ends = update(tables.attempts).where(this).values(lease_expires_at=until)
                transaction.connection.execute(ends)

        set_lease(held, LEASE_SECONDS / 2)
        answer = held.heartbeat().json()
        assert (answer["cancel"], answer["lease_seconds"]) == (False, LEASE_SECONDS)
        with hasty.database.read() as transaction:
            row = losses.hold(transaction, held.claim["attempt_id"], held.fence, 60.0)
            assert row.lease_expires_at > transaction.now + LEASE_SECONDS / 2 * 1000
        set_lease(silent, 0)
        job_id = silent.claim["job_id"]
        eventually(lambda: hasty.job(job_id)["attempts"][0]["finished_at"])
        assert held.heartbeat().status_code == 200
        held.finish("diverged")

    def test_an_agent_that_dies_while_stopping_does_not_hold_the_job_up(
        self, hasty: InProcess
    ) -> None:
        attempt = hasty.attempt(hasty.submit()["id"])
        path = f"/v1/jobs/{attempt.claim['job_id']}"
        hasty.user.post(f"{path}/cancel")
        hasty.expire_leases()
        job = hasty.user.get(path, headers={"prefer": "wait=30"}).json()
        assert (job["state"], job["reason"]) == ("cancelled", "cancelled_by_user")
        check_refused(attempt)

    def test_a_job_that_kills_every_worker_fails(self, hasty: InProcess) -> None:
        job_id = hasty.submit()["id"]
        for number in range(1, MAX_ATTEMPTS + 1):
            attempt = hasty.attempt(job_id)
            assert attempt.claim["attempt"] == number
            job = attempt.finish("runner_lost", "killed by signal 9").json()
        assert (job["state"], job["reason"]) == ("failed", "runner_lost")
        assert job["message"].startswith("killed by signal 9 ")
        assert f"{MAX_ATTEMPTS} times" in job["message"]
        assert len(job["attempts"]) == MAX_ATTEMPTS
        check_problem(hasty.claim(job_id), 409)

    def test_a_failure_of_the_experiment_is_not_tried_again(self, hasty: InProcess) -> None:
        attempt = hasty.attempt(hasty.submit()["id"])
        job = attempt.finish("out_of_memory", "needs 3 GB").json()
        assert (job["state"], job["reason"]) == ("failed", "out_of_memory")
        assert len(job["attempts"]) == 1

    def test_files_of_a_lost_attempt_are_not_the_jobs(self, hasty: InProcess) -> None:
        first = hasty.attempt(hasty.submit()["id"])
        kept = first.put("early.bin", "weights", b"evidence").json()["artifact_id"]
        first.finish("worker_stopped")
        second = hasty.attempt(first.claim["job_id"])
        second.complete()
        path = f"/v1/jobs/{first.claim['job_id']}/artifacts"
        names = [artifact["name"] for artifact in hasty.user.get(path).json()["artifacts"]]
        assert names == ["manifest.json"]
        assert hasty.user.get(f"{path}/{kept}/content").content == b"evidence"

    def test_the_wait_doubles(self, redis_server: RedisServer, tmp_path: Path) -> None:
        settings = settings_for(tmp_path / "home", redis_server.url, retry_seconds=0.05)
        with InProcess(settings) as service:
            job_id = service.submit()["id"]
            for _ in range(4):
                service.attempt(job_id).finish("runner_lost")
            service.attempt(job_id)
            seconds = service.job(job_id)["phase_seconds"]["retry_wait"]
            assert seconds >= 0.05 * (1 + 2 + 4 + 8)
