"""Looking at jobs, listing them, waiting for them, and cancelling them."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from ipulse.stack.redis_server import RedisServer
from ipulse_core.pva.band import SHARE, band_of
from tests.service.agents import METRIC, PHASES, Attempt, phase
from tests.service.http.routes.test_submission import check_problem
from tests.service.running import InProcess, settings_for

ODD_IDS = [
    "..",
    "%2e%2e",
    "%2e%2e%2f%2e%2e%2fetc",
    "%252e",
    ";",
    "job_",
    "job_x",
    "job_" + "0" * 24,
]
ODD_IDS += ["job_" + "0" * 5000, "%00", "%ff", "CON", "'; DROP TABLE jobs; --", "job_%0a"]


class TestGet:
    @pytest.mark.parametrize("odd", ODD_IDS)
    @pytest.mark.parametrize("rest", ["", "/events", "/artifacts", "/artifacts/x/content"])
    def test_an_id_of_no_job_is_not_found(self, service: InProcess, odd: str, rest: str) -> None:
        response = service.user.get(f"/v1/jobs/{odd}{rest}")
        if not response.url.path.startswith("/v1/jobs/") or response.url.path == "/v1/jobs/":
            pytest.skip("the client itself resolved the path")
        assert check_problem(response, 404)["code"] == "not_found"

    @pytest.mark.parametrize(
        ("method", "path"),
        [("DELETE", "/v1/jobs"), ("PUT", "/v1/jobs/x"), ("GET", "/v1/jobs/x/cancel")],
    )
    def test_a_wrong_method_is_refused_with_the_right_ones(
        self, service: InProcess, method: str, path: str
    ) -> None:
        response = service.user.request(method, path)
        assert check_problem(response, 405)["code"] == "method_not_allowed"
        assert response.headers["allow"]

    @pytest.mark.parametrize("path", ["/v1", "/v1/jobs/", "/v2/jobs", "/docs/", "/docs/x"])
    def test_an_unknown_path_is_not_found(self, service: InProcess, path: str) -> None:
        check_problem(service.user.get(path), 404)

    def test_an_unchanged_job_is_not_sent_again(self, service: InProcess) -> None:
        job = service.submit()
        path = f"/v1/jobs/{job['id']}"
        tag = service.user.get(path).headers["etag"]
        same = service.user.get(path, headers={"if-none-match": tag})
        assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", tag)
        service.attempt(job["id"])
        news = service.user.get(path, headers={"if-none-match": tag})
        assert news.status_code == 200
        assert news.headers["etag"] != tag

    def test_one_that_has_changed_is_refused(self, service: InProcess) -> None:
        job = service.submit()
        path = f"/v1/jobs/{job['id']}"
        tag = service.user.get(path).headers["etag"]
        assert service.user.get(path, headers={"if-match": tag}).status_code == 200
        assert service.user.get(path, headers={"if-match": "*"}).status_code == 200
        service.user.post(f"{path}/cancel")
        problem = check_problem(service.user.get(path, headers={"if-match": tag}), 412)
        assert problem["code"] == "precondition_failed"

    def test_a_finished_job_shows_its_phases_and_attempts(self, service: InProcess) -> None:
        attempt = service.attempt(service.submit()["id"])
        attempt.report(METRIC)
        job = attempt.complete()
        assert job["progress"]["values"] == {"loss": 0.5}
        assert job["summary"] == {"accuracy": 0.97}
        assert job["reason"] == "completed"
        assert job["created_at"] <= job["started_at"] <= job["finished_at"] == job["updated_at"]
        assert set(job["phase_seconds"]) == {"queue", *PHASES}
        assert [attempt["reason"] for attempt in job["attempts"]] == ["completed"]

    def test_the_seconds_of_phases_are_the_workers(self, service: InProcess) -> None:
        """Reports and profiles show the same ones; the service's clock includes the network."""
        attempt = service.attempt(service.submit()["id"])
        for name, seconds in (("prepare", None), ("compile", 61.25), ("run", 0.5)):
            attempt.report({"kind": "phase", "phase": name, "previous_seconds": seconds})
        shown = service.job(attempt.claim["job_id"])["phase_seconds"]
        assert (shown["prepare"], shown["compile"]) == (61.25, 0.5)
        response = attempt.report({"kind": "phase", "phase": "report", "previous_seconds": -1.0})
        assert response.status_code == 422, response.text


class TestWait:
    def test_the_answer_comes_with_the_news(self, service: InProcess) -> None:
        job = service.submit()
        attempt = service.attempt(job["id"])
        path = f"/v1/jobs/{job['id']}"
        headers = {"prefer": "wait=30", "if-none-match": service.user.get(path).headers["etag"]}
        news = threading.Timer(0.2, attempt.report, [METRIC])
        news.start()
        began = time.monotonic()
        response = service.user.get(path, headers=headers)
        assert time.monotonic() - began < 10
        news.join()
        assert response.status_code == 200
        assert response.headers["preference-applied"] == "wait=30"
        assert response.json()["progress"]["values"] == {"loss": 0.5}

    def test_without_a_known_version_it_waits_for_the_end(self, service: InProcess) -> None:
        job = service.submit()
        attempt = service.attempt(job["id"])
        end = threading.Timer(0.1, attempt.complete)
        end.start()
        response = service.user.get(f"/v1/jobs/{job['id']}", headers={"prefer": "wait=30"})
        end.join()
        assert response.json()["state"] == "succeeded"

    def test_a_timeout_without_changes_is_304(self, service: InProcess) -> None:
        path = f"/v1/jobs/{service.submit()['id']}"
        tag = service.user.get(path).headers["etag"]
        began = time.monotonic()
        response = service.user.get(path, headers={"prefer": "wait=1", "if-none-match": tag})
        assert response.status_code == 304
        assert time.monotonic() - began >= 0.9

    @pytest.mark.parametrize("prefer", ["wait=-1", "wait=soon", "respond-async", "wait=", ""])
    def test_a_preference_that_is_not_understood_is_ignored(
        self, service: InProcess, prefer: str
    ) -> None:
        path = f"/v1/jobs/{service.submit()['id']}"
        began = time.monotonic()
        response = service.user.get(path, headers={"prefer": prefer})
        assert response.status_code == 200
        assert "preference-applied" not in response.headers
        assert time.monotonic() - began < 10

    def test_a_request_does_not_wait_for_a_finished_job(self, service: InProcess) -> None:
        job = service.attempt(service.submit()["id"]).complete()
        tag = service.user.get(f"/v1/jobs/{job['id']}").headers["etag"]
        headers = {"prefer": "wait=999999999", "if-none-match": tag}
        began = time.monotonic()
        response = service.user.get(f"/v1/jobs/{job['id']}", headers=headers)
        assert response.status_code == 304
        assert response.headers["preference-applied"] == "wait=30"
        assert time.monotonic() - began < 10


class TestCancel:
    def cancel(self, service: InProcess, job_id: str) -> dict[str, object]:
        response = service.user.post(f"/v1/jobs/{job_id}/cancel")
        assert response.status_code == 200
        job: dict[str, object] = response.json()
        return job

    def test_a_queued_job_is_cancelled_at_once(self, service: InProcess) -> None:
        job = self.cancel(service, service.submit()["id"])
        assert (job["state"], job["reason"]) == ("cancelled", "cancelled_by_user")
        assert service.claim(str(job["id"])).json()["code"] == "not_claimable"

    @pytest.mark.parametrize("entered", range(len(PHASES) + 1))
    def test_a_held_job_stops_when_its_agent_has_received(
        self, service: InProcess, entered: int
    ) -> None:
        attempt = service.attempt(service.submit()["id"])
        for name in PHASES[:entered]:
            attempt.report(phase(name))
        assert attempt.heartbeat().json()["cancel"] is False
        job = self.cancel(service, attempt.claim["job_id"])
        assert job["state"] == "cancelling"
        assert attempt.heartbeat().json()["cancel"] is True
        # The agent may still upload files and report events.
        assert attempt.put("last.ckpt", "checkpoint").status_code == 201
        assert attempt.report({"kind": "log", "message": "stopping"}).status_code == 200
        ended = attempt.finish("cancelled_by_user").json()
        assert (ended["state"], ended["reason"]) == ("cancelled", "cancelled_by_user")

    def test_a_job_that_waits_for_another_attempt_is_cancelled_at_once(
        self, redis_server: RedisServer, tmp_path: Path
    ) -> None:
        settings = settings_for(tmp_path / "home", redis_server.url, retry_seconds=60.0)
        with InProcess(settings) as service:
            attempt = service.attempt(service.submit()["id"])
            assert attempt.finish("runner_lost").json()["state"] == "retry_wait"
            assert self.cancel(service, attempt.claim["job_id"])["state"] == "cancelled"

    def test_asking_twice_changes_nothing(self, service: InProcess) -> None:
        attempt = service.attempt(service.submit()["id"])
        first = self.cancel(service, attempt.claim["job_id"])
        assert self.cancel(service, attempt.claim["job_id"]) == first

    @pytest.mark.parametrize("reason", ["completed", "diverged", "cancelled_by_user"])
    def test_a_job_that_is_over_stays_as_it_is(self, service: InProcess, reason: str) -> None:
        attempt = service.attempt(service.submit()["id"])
        if reason == "completed":
            over = attempt.complete()
        elif reason == "diverged":
            over = attempt.finish("diverged", "loss is NaN").json()
        else:
            self.cancel(service, attempt.claim["job_id"])
            over = attempt.finish(reason).json()
        assert self.cancel(service, over["id"]) == over

    def test_a_result_that_was_complete_before_counts(self, service: InProcess) -> None:
        attempt = service.attempt(service.submit()["id"])
        attempt.put("manifest.json", "manifest")
        self.cancel(service, attempt.claim["job_id"])
        assert attempt.finish("completed").json()["state"] == "succeeded"

    @pytest.mark.parametrize("reason", ["runner_lost", "worker_stopped", "runner_error"])
    def test_however_the_attempt_ends_the_job_is_cancelled(
        self, service: InProcess, reason: str
    ) -> None:
        attempt = service.attempt(service.submit()["id"])
        self.cancel(service, attempt.claim["job_id"])
        job = attempt.finish(reason).json()
        assert (job["state"], job["reason"]) == ("cancelled", "cancelled_by_user")
        assert job["attempts"][0]["reason"] == reason


def test_an_attempt_needs_its_phases_before_it_can_be_complete(service: InProcess) -> None:
    attempt: Attempt = service.attempt(service.submit()["id"])
    attempt.put("manifest.json", "manifest")
    assert check_problem(attempt.finish("completed"), 409)["code"] == "illegal_transition"


def test_emulated_cycles_come_with_the_band_of_an_ipu(service: InProcess) -> None:
    job_id = service.submit()["id"]
    attempt = service.attempt(job_id)
    assert service.job(job_id)["cycles_band"] is None
    for name in PHASES:
        attempt.report(phase(name))
    attempt.put("manifest.json", "manifest")
    assert attempt.finish("completed", emulated_cycles=1e6).status_code == 200
    band = service.job(job_id)["cycles_band"]
    assert (band["low"], band["high"], band["share"]) == (*band_of(1e6), SHARE)
