"""Each local agent has a token of its own, and acts for nobody else."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

import httpx
import pytest

from tests.service.agents import Attempt, line
from tests.service.joined import Machine, client, join_token, joined
from tests.service.running import InProcess


@pytest.fixture
def other(service: InProcess) -> Iterator[httpx.Client]:
    """The local agent `other`, whatever name it sends."""
    with client(service, service.agent_token("other")) as http:
        yield http


def as_other(attempt: Attempt, other: httpx.Client) -> Attempt:
    return Attempt(other, attempt.claim)  # with the fencing token, which only the holder knows


@pytest.mark.parametrize("path", ["claims", "agents", "attempts/att_0/heartbeat"])
def test_a_former_token_of_all_agents_is_told_how_to_join(service: InProcess, path: str) -> None:
    former = secrets.token_urlsafe(32)
    (service.settings.home / "worker-token").write_text(former)  # as in 0.2.0
    with client(service, former) as http:
        response = http.post(f"/v1/worker/{path}", json={"agent": "a", "device_kinds": ["cpu"]})
        assert (response.status_code, response.json()["code"]) == (401, "not_authenticated")
        assert "ipulse agent join URL --token" in response.json()["detail"]
        elsewhere = http.get("/v1/jobs")
    assert elsewhere.status_code == 401
    assert "agent join" not in elsewhere.json()["detail"]


def test_no_more_tokens_of_all_agents_are_made(service: InProcess) -> None:
    body = {"name": "x", "role": "worker", "seconds": 60}
    refused = service.user.post("/v1/tokens", json=body)
    assert refused.status_code == 422
    assert "ipulse agent token" in refused.json()["errors"][0]["detail"]


def test_a_token_for_another_name_is_forged(service: InProcess) -> None:
    forged = service.agent_token("agent-1").replace("agent-1", "agent-2")
    with client(service, forged) as http:
        assert http.get("/v1/worker/wakeups?agent=agent-2").status_code == 401


def test_nobody_claims_or_registers_as_another_agent(
    service: InProcess, other: httpx.Client
) -> None:
    body = {"agent": "agent-1", "device_kinds": ["cpu"]}
    job_id = service.submit()["id"]
    assert other.post("/v1/worker/agents", json=body).status_code == 403
    assert other.post("/v1/worker/claims", json={**body, "job_id": job_id}).status_code == 403
    assert other.post("/v1/worker/sign-off", json={"agent": "agent-1"}).status_code == 403
    assert other.get("/v1/worker/wakeups", params={"agent": "agent-1"}).status_code == 403
    assert service.job(job_id)["state"] == "queued"


def test_nobody_reports_about_an_attempt_of_another_agent(
    service: InProcess, other: httpx.Client
) -> None:
    attempt = service.attempt(service.submit()["id"])
    forged = as_other(attempt, other)
    assert forged.heartbeat().status_code == 403
    assert forged.orders(wait=0).status_code == 403
    assert forged.report(line("x")).status_code == 403
    assert forged.put("x.json", "log").status_code == 403
    for path in ("dataset", "start-file", "ops/sha256:" + "0" * 64):
        fence = {"ipulse-fence": attempt.fence}
        assert other.get(f"{attempt.path}/{path}", headers=fence).status_code == 403
    end = {"reason": "diverged", "first": 1, "events": [line("x")]}
    assert forged.post("finish", end).status_code == 403
    assert attempt.complete()["state"] == "succeeded"


def test_an_agent_reads_files_only_while_it_holds_the_job(
    service: InProcess, other: httpx.Client
) -> None:
    job_id = service.submit()["id"]
    attempt = service.attempt(job_id)
    attempt.report(line("x"))
    stored = attempt.put("x.json", "checkpoint").json()
    path = f"/v1/jobs/{job_id}/artifacts/{stored['artifact_id']}/content"
    assert service.worker.get(path).content == b"{}"
    assert other.get(path).status_code == 403
    attempt.complete()
    assert service.worker.get(path).status_code in (403, 404)


def test_an_agent_gives_back_what_a_dead_one_of_its_machine_held(
    service: InProcess, other: httpx.Client
) -> None:
    attempt = service.attempt(service.submit()["id"])
    lost = as_other(attempt, other).finish("worker_lost", "agent-1 has died")
    assert lost.status_code == 200
    assert lost.json()["state"] in ("retry_wait", "queued")


def test_it_gives_back_nothing_of_another_machine(service: InProcess, other: httpx.Client) -> None:
    name, token = joined(service)
    with client(service, token) as remote:
        body = {"agent": name, "device_kinds": ["cpu"], "job_id": service.submit()["id"]}
        claim = remote.post("/v1/worker/claims", json=body).json()
        attempt = Attempt(remote, claim)
        assert as_other(attempt, other).finish("worker_lost").status_code == 403
        assert attempt.heartbeat().status_code == 200
        attempt.finish("worker_stopped")


def test_no_machine_joins_under_the_name_of_a_local_agent(
    service: InProcess, other: httpx.Client
) -> None:
    body = {"agent": "other", "device_kinds": ["cpu"]}
    assert other.post("/v1/worker/agents", json=body).status_code == 204
    assert other.post("/v1/worker/sign-off", json={"agent": "other"}).status_code == 204
    response = Machine(service).join(join_token(service)["token"], "other", replace=True)
    assert (response.status_code, response.json()["code"]) == (409, "agent_name_in_use")
