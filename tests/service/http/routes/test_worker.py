"""Claims, versions of the protocol and orders, as agents see them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from typing import Any

import httpx
import pytest

from ipulse_core import messages
from ipulse_service.jobs import store
from ipulse_service.jobs.job import JobRow
from ipulse_service.jobs.queue import order
from ipulse_worker.agent.service_api import ServiceAPI
from ipulse_worker.agent.service_responses import ProtocolRefused
from tests.service.conditions import eventually
from tests.service.conftest import LEASE_SECONDS
from tests.service.http.routes.test_submission import check_problem
from tests.service.running import InProcess


class TestClaim:
    def test_gives_an_agent_all_it_needs(self, service: InProcess) -> None:
        job = service.submit()
        claim = service.claim(job["id"]).json()
        assert claim["job_id"] == job["id"]
        assert claim["attempt"] == 1
        assert claim["spec"] == job["spec"]
        assert claim["checkpoint"] is None
        assert claim["lease_seconds"] == LEASE_SECONDS
        assert claim["heartbeat_seconds"] == 5
        assert len(claim["fence"]) > 30
        now = service.job(job["id"])
        assert now["state"] == "preparing"
        assert [attempt["agent"] for attempt in now["attempts"]] == ["agent-1"]

    def test_a_concurrent_deletion_causes_no_error(
        self, service: InProcess, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The agent names it, another job's turn comes first, and the one it named is gone."""
        service.submit()
        named = service.submit()["id"]
        head = order.head

        def remove() -> httpx.Response:
            service.user.post(f"/v1/jobs/{named}/cancel")
            return service.user.delete(f"/v1/jobs/{named}")

        with ThreadPoolExecutor(1) as beside:

            def head_meanwhile(*asked: Any) -> JobRow | None:
                removed.append(beside.submit(remove))
                if service.database.url.get_backend_name() == "postgresql":
                    removed[
                        0
                    ].result()  # SQLite has one writer at a time, so the deletion comes after
                return head(*asked)

            removed: list[Future[httpx.Response]] = []
            monkeypatch.setattr(order, "head", head_meanwhile)
            claimed = service.claim(named)
            assert removed[0].result().status_code == 204
        assert claimed.status_code == 200, claimed.text
        assert claimed.json()["job_id"] != named

    def test_one_of_many_concurrent_claims_succeeds(self, service: InProcess) -> None:
        job = service.submit()
        start = threading.Barrier(8)
        answers: list[int] = []

        def claim() -> None:
            with service.agents() as worker:
                body = {"job_id": job["id"], "agent": "a", "device_kinds": ["cpu"]}
                start.wait()
                answers.append(worker.post("/v1/worker/claims", json=body).status_code)

        threads = [threading.Thread(target=claim) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(answers) == [200] + [409] * 7
        assert len(service.job(job["id"])["attempts"]) == 1

    def test_a_job_that_cannot_be_claimed_is_refused(self, service: InProcess) -> None:
        over = service.attempt(service.submit()["id"]).complete()
        assert check_problem(service.claim(over["id"]), 409)["code"] == "not_claimable"
        check_problem(service.claim("job_" + "0" * 24), 404)

    def test_an_agent_without_the_device_is_refused(self, service: InProcess) -> None:
        body = {"job_id": service.submit()["id"], "agent": "a", "device_kinds": ["ipu"]}
        response = service.worker.post("/v1/worker/claims", json=body)
        assert check_problem(response, 409)["code"] == "not_claimable"

    @pytest.mark.parametrize(
        ("body", "pointer"),
        [
            ({}, "/agent"),
            ({"job_id": 7, "agent": "a", "device_kinds": ["cpu"]}, "/job_id"),
            ({"job_id": "x", "agent": "a", "device_kinds": []}, "/device_kinds"),
            ({"job_id": "x", "agent": "a\x00", "device_kinds": ["cpu"]}, "/agent"),
            ({"job_id": "x", "agent": "a", "device_kinds": ["cpu"], "x": 1}, "/x"),
        ],
    )
    def test_a_wrong_field_is_named(
        self, service: InProcess, body: dict[str, Any], pointer: str
    ) -> None:
        problem = check_problem(service.worker.post("/v1/worker/claims", json=body), 422)
        assert pointer in [error["pointer"] for error in problem["errors"]]


class TestProtocol:
    """Agents of another version: understood or refused in words, and no job is lost."""

    @pytest.fixture
    def agent(self, service: InProcess) -> Iterator[ServiceAPI]:
        agent = ServiceAPI(service.url, service.agent_token())
        yield agent
        agent.close()

    @pytest.mark.parametrize("number", [None, "1", "4"])
    def test_an_agent_of_version_0_1_is_refused_with_a_reason(
        self, service: InProcess, number: str | None
    ) -> None:
        job_id = service.submit()["id"]
        with service.agents() as agent:
            del agent.headers[messages.PROTOCOL_HEADER]
            if number:
                agent.headers[messages.PROTOCOL_HEADER] = number
            body = {"job_id": job_id, "agent": "old", "device_kinds": ["cpu"]}
            problem = check_problem(agent.post("/v1/worker/claims", json=body), 409)
            assert problem["code"] == "wrong_protocol"
            assert "upgrade the agent" in problem["detail"]
            announced = agent.post(
                "/v1/worker/agents", json={"agent": "old", "device_kinds": ["cpu"]}
            )
            assert check_problem(announced, 409)["code"] == "wrong_protocol"
        assert service.attempt(job_id).complete()["state"] == "succeeded"

    def test_one_that_is_too_old_ends_what_it_holds_and_gets_no_more(
        self, service: InProcess, agent: ServiceAPI, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        held, other = service.attempt(service.submit()["id"]), service.submit()["id"]
        ours = messages.PROTOCOL
        monkeypatch.setattr(messages, "PROTOCOL", ours + 2)
        monkeypatch.setattr(messages, "OLDEST_PROTOCOL", ours + 1)
        message = f"protocol {ours}, the service {ours + 1} to {ours + 2}: upgrade the agent"
        with pytest.raises(ProtocolRefused, match=message):
            agent.claim(other, "old", ["cpu"], "f" * 40)
        with pytest.raises(ProtocolRefused, match="upgrade the agent"):
            agent.register("old", ["cpu"])
        assert service.job(other)["state"] == "queued"
        assert held.heartbeat().json()["cancel"] is False
        assert held.complete()["state"] == "succeeded"

    def test_one_that_is_too_new_waits_for_the_service(
        self, service: InProcess, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        job_id = service.submit()["id"]
        ours = messages.PROTOCOL
        monkeypatch.setattr(messages, "PROTOCOL", ours + 1)
        newer = ServiceAPI(service.url, service.agent_token())
        monkeypatch.undo()
        message = f"protocol {ours + 1}, the service .*{ours}: upgrade the service"
        with closing(newer), pytest.raises(ProtocolRefused, match=message):
            newer.claim(job_id, "new", ["cpu"], "f" * 40)
        assert service.job(job_id)["state"] == "queued"
        assert service.attempt(job_id).complete()["state"] == "succeeded"


class TestOrders:
    def test_a_waiting_agent_receives_a_cancellation(self, service: InProcess) -> None:
        job_id = service.submit()["id"]
        attempt = service.attempt(job_id)
        with ThreadPoolExecutor(1) as beside:
            waiting = beside.submit(attempt.orders, wait=30)
            eventually(lambda: service.state.notifier.is_watched(store.stop_topic(job_id)))
            service.user.post(f"/v1/jobs/{job_id}/cancel")
            response = waiting.result(timeout=10)
        assert response.json() == {"cancel": True, "finish": False}
        assert response.headers["preference-applied"] == "wait=30"

    def test_without_news_the_answer_comes_when_the_wait_is_over(self, service: InProcess) -> None:
        attempt = service.attempt(service.submit()["id"])
        assert attempt.orders(wait=0).json() == {"cancel": False, "finish": False}

    def test_an_attempt_that_has_ended_is_refused(self, service: InProcess) -> None:
        attempt = service.attempt(service.submit()["id"])
        attempt.finish("diverged")
        assert check_problem(attempt.orders(wait=30), 409)["code"] == "stale_token"
