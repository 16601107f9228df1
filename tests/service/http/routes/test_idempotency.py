"""One idempotency key makes one job."""

from __future__ import annotations

import threading

import pytest

from ipulse_service.jobs import idempotency
from tests.service.http.routes.test_submission import changed, check_problem
from tests.service.running import SPEC, InProcess


class TestIdempotencyKey:
    def test_the_same_key_finds_the_same_job(self, service: InProcess) -> None:
        before = service.job_count()
        headers = {"idempotency-key": "one"}
        first = service.user.post("/v1/jobs", json=SPEC, headers=headers)
        again = service.user.post("/v1/jobs", json=SPEC, headers=headers)
        assert again.status_code == first.status_code == 202
        assert again.json() == first.json()
        assert again.headers["location"] == first.headers["location"]
        assert again.headers["idempotency-replayed"] == "true"
        assert "idempotency-replayed" not in first.headers
        assert service.job_count() == before + 1

    def test_a_replay_shows_the_job_as_it_is_now(self, service: InProcess) -> None:
        job = service.submit(SPEC, **{"idempotency-key": "now"})
        service.attempt(job["id"]).complete()
        again = service.submit(SPEC, **{"idempotency-key": "now"})
        assert again == service.job(job["id"])
        assert again["state"] == "succeeded"

    def test_the_same_key_with_another_spec_is_refused(self, service: InProcess) -> None:
        service.submit(SPEC, **{"idempotency-key": "two"})
        before = service.job_count()
        headers = {"idempotency-key": "two"}
        response = service.user.post("/v1/jobs", json=changed(seed=9), headers=headers)
        problem = check_problem(response, 422)
        assert problem["code"] == "idempotency_key_reused"
        assert problem["errors"][0]["pointer"] == "/header/idempotency-key"
        assert service.job_count() == before

    def test_a_refused_spec_does_not_use_its_key_up(self, service: InProcess) -> None:
        headers = {"idempotency-key": "three"}
        wrong = service.user.post("/v1/jobs", json=changed(seed=-1), headers=headers)
        assert wrong.status_code == 422
        assert service.submit(SPEC, **headers)["state"] == "queued"

    def test_many_at_once_make_one_job(self, service: InProcess) -> None:
        ids = set()
        start = threading.Barrier(8)

        def submit() -> None:
            with service.client(service.settings.token_file) as client:
                start.wait()
                headers = {"idempotency-key": "race"}
                ids.add(client.post("/v1/jobs", json=SPEC, headers=headers).json()["id"])

        threads = [threading.Thread(target=submit) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(ids) == 1

    def test_a_key_in_use_is_refused_with_retry_after(
        self, service: InProcess, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(idempotency, "WAIT_SECONDS", 0.05)
        headers = {"idempotency-key": "slow"}
        with service.database.key_locks.acquire(
            "idempotency/user/slow", 0.0
        ):  # as if one were under way
            response = service.user.post("/v1/jobs", json=SPEC, headers=headers)
            assert check_problem(response, 409)["code"] == "idempotency_key_in_use"
            assert int(response.headers["retry-after"]) > 0
            service.submit(SPEC, **{"idempotency-key": "another"})
        assert service.submit(SPEC, **headers)["state"] == "queued"

    @pytest.mark.parametrize("key", ["", "a b", "\xe9", "x" * 256])
    def test_a_key_that_cannot_be_one_is_refused(self, service: InProcess, key: str) -> None:
        headers = {b"idempotency-key": key.encode("latin-1")}
        response = service.user.post("/v1/jobs", json=SPEC, headers=headers)
        problem = check_problem(response, 422)
        assert problem["errors"][0]["pointer"] == "/header/idempotency-key"
