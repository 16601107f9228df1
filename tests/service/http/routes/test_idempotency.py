"""One idempotency key makes one job."""

from __future__ import annotations

import threading
from copy import deepcopy
from typing import Any

import httpx
import pytest
from pydantic import create_model
from sqlalchemy import update

from ipulse.models.partial_json import given_json
from ipulse.spec import ExperimentSpec, NetworkSpec, TrainingSpec
from ipulse_core.spec import upgrade
from ipulse_service.db import tables
from ipulse_service.jobs import idempotency, submission
from tests.service.http.routes.test_submission import changed, check_problem
from tests.service.running import SPEC, InProcess

pytestmark = pytest.mark.postgresql


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
            "idempotency/owner/slow", 0.0
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


class TestWhatIsTheSameRequest:
    """A request is compared without defaults, which another version has more of."""

    def post(self, service: InProcess, key: str, spec: Any, **query: Any) -> httpx.Response:
        headers = {"idempotency-key": key}
        return service.user.post("/v1/jobs", json=spec, headers=headers, params=query)

    def test_defaults_may_be_written_or_left_out(self, service: InProcess) -> None:
        """Clients of 0.1 and 0.2 write them all, those of this version none."""
        first = self.post(service, "defaults", SPEC)
        whole = first.json()["spec"]
        assert whole != SPEC
        again = self.post(service, "defaults", whole)
        assert again.json()["id"] == first.json()["id"]
        assert "idempotency-compared" not in again.headers

    def test_a_field_of_a_later_version_changes_nothing_with_its_default(
        self, service: InProcess, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Two replicas of neighbouring versions see the same request."""
        options = {"priority": 3}
        first = self.post(service, "neighbours", SPEC, **options)
        newer = create_model("NewerTraining", __base__=TrainingSpec, momentum=(float, 0.5))
        network = create_model("NewerNetwork", __base__=NetworkSpec, dales_law=(bool, False))
        fields = {"training": (newer, newer()), "network": (network, ...)}
        later = create_model("NewerSpec", __base__=ExperimentSpec, **fields)  # type: ignore[call-overload]
        resolve = submission.resolve
        monkeypatch.setattr(
            submission,
            "resolve",
            lambda spec: resolve(later.model_validate(given_json(spec))),
        )
        table = deepcopy(upgrade._table())
        table["parts"]["TrainingSpec"]["momentum"] = {"default": 0.5, "is_float": True}
        table["parts"]["NetworkSpec"]["dales_law"] = {"default": False}
        monkeypatch.setattr(upgrade, "_table", lambda: table)
        again = self.post(service, "neighbours", SPEC, **options)
        assert again.json()["id"] == first.json()["id"]
        assert again.headers["idempotency-replayed"] == "true"

    def test_kinds_with_their_defaults_are_different(self, service: InProcess) -> None:
        for kind in ("sgd", "adamw"):
            spec = {**SPEC, "training": {"optimizer": {"kind": kind}}}
            response = self.post(service, "kinds", spec)
        assert check_problem(response, 422)["code"] == "idempotency_key_reused"

    @pytest.mark.parametrize("query", [{"priority": 3}, {"tag": "a"}, {"run_seconds": 60}])
    def test_other_options_are_another_request(
        self, service: InProcess, query: dict[str, Any]
    ) -> None:
        key = f"options-{next(iter(query))}"
        assert self.post(service, key, SPEC).status_code == 202
        assert check_problem(self.post(service, key, SPEC, **query), 422)

    @pytest.mark.parametrize("rule", [0, 99])
    def test_a_key_of_another_version_returns_its_job_and_says_so(
        self, service: InProcess, rule: int
    ) -> None:
        key = f"rule-{rule}"
        first = self.post(service, key, SPEC)
        with service.database.write() as transaction:
            stored = tables.idempotency_keys
            of_key = update(stored).where(stored.c.key == key)
            values = {"fingerprint": "f" * 64, "fingerprint_rule": rule}
            transaction.connection.execute(of_key.values(values))
        again = self.post(service, key, SPEC)
        assert (again.status_code, again.json()["id"]) == (202, first.json()["id"])
        assert again.headers["idempotency-replayed"] == "true"
        assert again.headers["idempotency-compared"] == "false"
