"""What costs a job one of its attempts, and what does not."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from ipulse.stack.redis_server import RedisServer
from ipulse_service.jobs import attempts
from tests.service.agents import Attempt, line, phase
from tests.service.running import InProcess, settings_for

pytestmark = pytest.mark.postgresql


@pytest.fixture(scope="module")
def service(
    redis_server: RedisServer,
    tmp_path_factory: pytest.TempPathFactory,
    database_settings: dict[str, str],
) -> Iterator[InProcess]:
    """The limit of attempts is the one that users have; only the wait is shorter."""
    settings = settings_for(
        tmp_path_factory.mktemp("losses"),
        redis_server.url,
        lease_seconds=3600.0,
        retry_seconds=0.02,
        **database_settings,
    )
    with InProcess(settings) as running:
        yield running


def checkpoint(step: int) -> dict[str, object]:
    return {"kind": "checkpoint", "path": "steps.ckpt", "epoch": 1, "step": step}


def begun(service: InProcess, job_id: str) -> Attempt:
    """An attempt whose runner has begun to train."""
    attempt = service.attempt(job_id)
    assert attempt.report(phase("run")).status_code == 200
    return attempt


def lose(service: InProcess, attempt: Attempt) -> None:
    """Nothing is heard of its agent until the lease is over."""
    service.expire_leases()
    with service.database.write() as transaction:
        attempts.reap(transaction, service.settings)
    number = attempt.claim["attempt"]
    assert service.job(attempt.claim["job_id"])["attempts"][number - 1]["reason"] == "worker_lost"


def test_a_planned_stop_costs_nothing_however_often(service: InProcess) -> None:
    job_id = service.submit()["id"]
    for _ in range(2 * service.settings.max_attempts):
        stopped = begun(service, job_id).finish("worker_stopped", "The agent was shut down.")
        assert stopped.json()["state"] in ("retry_wait", "queued")
    assert begun(service, job_id).claim["attempt"] == 2 * service.settings.max_attempts + 1


@pytest.mark.parametrize("between", ["nothing", "a restart of the agent"])
def test_a_runner_that_dies_at_the_same_step_fails_the_job(
    service: InProcess, between: str
) -> None:
    job_id = service.submit()["id"]
    first = begun(service, job_id)
    assert first.report(checkpoint(100)).status_code == 200
    lose(service, first)
    for number in range(2, service.settings.max_attempts + 1):
        if between != "nothing":
            begun(service, job_id).finish("worker_stopped")
        attempt = begun(service, job_id)
        attempt.report(checkpoint(100))  # it is stored again, and is no progress
        job = attempt.finish("runner_lost", "signal 9").json()
        assert (job["state"] == "failed") == (number == service.settings.max_attempts), number
    assert job["reason"] == "runner_lost"
    assert f"{service.settings.max_attempts} times in a row" in job["message"]


def test_a_job_that_gets_further_each_time_is_never_given_up(service: InProcess) -> None:
    job_id = service.submit()["id"]
    for number in range(1, 4 * service.settings.max_attempts):
        attempt = begun(service, job_id)
        if number % 3 == 0:
            assert attempt.report(checkpoint(number)).status_code == 200
        assert attempt.finish("runner_lost").json()["state"] == "retry_wait"


def test_a_claim_whose_answer_never_arrived_costs_nothing(service: InProcess) -> None:
    job_id = service.submit()["id"]
    for _ in range(2 * service.settings.max_attempts):
        lose(service, service.attempt(job_id))
    assert service.job(job_id)["state"] in ("retry_wait", "queued")


class TestReturn:
    """An agent that was taken for dead, and is back."""

    def test_its_attempt_goes_on_if_nobody_else_has_begun(self, service: InProcess) -> None:
        job_id = service.submit()["id"]
        for _ in range(2 * service.settings.max_attempts):
            attempt = begun(service, job_id)
            lose(service, attempt)
            assert attempt.heartbeat().status_code == 200
            job = service.job(job_id)
            assert (job["state"], job["reason"]) == ("running", None)
            assert job["attempts"][-1]["finished_at"] is None
            attempt.finish("worker_stopped")
        attempt = begun(service, job_id)
        lose(service, attempt)
        assert attempt.report(phase("report")).status_code == 200
        assert attempt.put("manifest.json", "manifest").status_code == 201
        assert attempt.finish("completed").json()["state"] == "succeeded"

    def test_a_result_that_was_ready_is_taken(self, service: InProcess) -> None:
        attempt = service.attempt(service.submit()["id"])
        for name in ("prepare", "compile", "acquire", "run", "report"):
            attempt.report(phase(name))
        attempt.put("manifest.json", "manifest")
        lose(service, attempt)
        job = attempt.finish("completed").json()
        assert (job["state"], len(job["attempts"])) == ("succeeded", 1)
        states = [each["state"] for each in service.events(job["id"], kind="state")["events"]]
        assert states[-2:] == ["reporting", "succeeded"]

    def test_it_is_refused_once_somebody_else_has_begun(self, service: InProcess) -> None:
        attempt = begun(service, service.submit()["id"])
        lose(service, attempt)
        successor = begun(service, attempt.claim["job_id"])
        for answer in (
            attempt.heartbeat(),
            attempt.report(line("late")),
            attempt.finish("diverged"),
        ):
            assert answer.json()["code"] == "stale_token"
        assert successor.heartbeat().status_code == 200
        successor.finish("diverged")

    @pytest.mark.parametrize("successor", [False, True])
    def test_that_it_had_only_stopped_is_believed(
        self, service: InProcess, successor: bool
    ) -> None:
        """It was cut off and gave up: no loss, whether another has begun meanwhile or not."""
        job_id = service.submit()["id"]
        for _ in range(2 * service.settings.max_attempts):
            attempt = begun(service, job_id)
            lose(service, attempt)
            other = begun(service, job_id) if successor else None
            for _ in range(2):  # the first answer was lost
                answer = attempt.finish("worker_stopped", "The service could not be reached.")
                assert answer.status_code == 200
            number = attempt.claim["attempt"]
            assert service.job(job_id)["attempts"][number - 1]["reason"] == "worker_stopped"
            if other is not None:
                assert other.heartbeat().status_code == 200
                other.finish("worker_stopped")

    def test_an_end_is_final(self, service: InProcess) -> None:
        attempt = begun(service, service.submit()["id"])
        service.user.post(f"/v1/jobs/{attempt.claim['job_id']}/cancel")
        lose(service, attempt)
        for answer in (attempt.heartbeat(), attempt.finish("worker_stopped")):
            assert answer.json()["code"] == "stale_token"
        assert service.job(attempt.claim["job_id"])["state"] == "cancelled"


def test_crossing_claims_of_one_agent_are_one_attempt(service: InProcess) -> None:
    """It asked again because the first answer was late, and both arrive."""
    job_ids = {service.submit()["id"] for _ in range(3)}
    for number in range(len(job_ids)):
        body = {"agent": "one", "device_kinds": ["cpu"], "fence": f"{number}" * 40}
        with ThreadPoolExecutor(4) as threads:
            asked = [
                threads.submit(service.worker.post, "/v1/worker/claims", json=body)
                for _ in range(4)
            ]
            answers = [answer.result() for answer in asked]
        assert {answer.status_code for answer in answers} == {200}
        assert len({answer.json()["attempt_id"] for answer in answers}) == 1
        attempt = Attempt(service.worker, answers[0].json())
        assert attempt.fence == body["fence"]
        assert attempt.heartbeat().status_code == 200
        attempt.finish("diverged")
        late = service.worker.post("/v1/worker/claims", json=body)
        assert late.json()["code"] == "not_claimable", "it would begin another attempt"
