"""The token of an agent, its renewal and what it opens."""

from __future__ import annotations

import contextlib

from sqlalchemy import select, update

from ipulse_core import messages
from ipulse_service.db import tables
from tests.service.agents import Attempt
from tests.service.http.routes.test_joining import change, refusal
from tests.service.joined import Machine, client, join_token, joined
from tests.service.running import InProcess


class TestAgentToken:
    def test_acts_for_its_own_agent_only(self, service: InProcess) -> None:
        name, token = joined(service)
        job_id = service.submit()["id"]
        other = service.attempt(job_id)  # of agent-1
        with client(service, token) as agent:
            claim = {"job_id": job_id, "agent": "agent-1", "device_kinds": ["cpu"]}
            foreign = [
                agent.post("/v1/worker/claims", json=claim),
                agent.post("/v1/worker/agents", json={"agent": "agent-1", "device_kinds": ["cpu"]}),
                agent.get("/v1/worker/wakeups?agent=agent-1"),
                *(
                    Attempt(agent, other.claim).post(what, body)
                    for what, body in (
                        ("heartbeat", {}),
                        ("events", {"first": 1, "events": []}),
                        ("finish", {"reason": "completed", "message": "", "summary": {}}),
                    )
                ),
                Attempt(agent, other.claim).orders(wait=0),
                Attempt(agent, other.claim).put("manifest.json", "manifest"),
            ]
            assert [refusal(response) for response in foreign] == [(403, "not_permitted")] * 8
            own = {"agent": name, "device_kinds": ["cpu"]}
            assert agent.post("/v1/worker/agents", json=own).status_code == 204
            assert agent.get("/v1/jobs").status_code == 403
        assert other.complete()["state"] == "succeeded"

    def test_reads_the_files_of_a_job_that_it_holds_and_of_no_other(
        self, service: InProcess
    ) -> None:
        name, token = joined(service)
        job_id = service.submit()["id"]
        attempt = service.attempt(job_id)
        stored = attempt.put("checkpoint-1.npz", "checkpoint", b"weights")
        path = f"/v1/jobs/{job_id}/artifacts/{stored.json()['artifact_id']}/content"
        with client(service, token) as agent:
            assert agent.get(path).status_code == 403
            with service.database.write() as transaction:
                held = tables.attempts.c.id == attempt.claim["attempt_id"]
                transaction.connection.execute(
                    update(tables.attempts).where(held).values(agent=name)
                )
            assert agent.get(path).content == b"weights"
        attempt.finish("cancelled")

    def test_is_renewed_past_two_thirds_of_its_life(self, service: InProcess) -> None:
        name, former = joined(service)
        registration = {"agent": name, "device_kinds": ["cpu"]}
        with client(service, former) as agent:
            assert agent.post("/v1/worker/agents", json=registration).status_code == 204
            life = 86_400_000
            key = tables.tokens.c.agent == name
            change(
                service,
                tables.tokens,
                key,
                created_at=lambda now: now - life * 2 // 3 - 1,
                expires_at=lambda now: now + life // 3,
            )
            orders = agent.post("/v1/worker/agents", json=registration)
            assert orders.json() == {"draining": False, "renew_token": True}
            renewed = agent.post("/v1/worker/token").json()["token"]
            assert agent.post("/v1/worker/agents", json=registration).status_code == 200
        with client(service, renewed) as agent:
            assert agent.post("/v1/worker/agents", json=registration).status_code == 204
        with client(service, former) as agent:  # the new one was used
            assert agent.post("/v1/worker/agents", json=registration).status_code == 401

    def test_an_expired_one_is_named(self, service: InProcess) -> None:
        name, token = joined(service)
        change(service, tables.tokens, tables.tokens.c.agent == name, expires_at=lambda now: now)
        with client(service, token) as agent:
            answer = agent.get(f"/v1/worker/wakeups?agent={name}")
        assert refusal(answer) == (401, "token_expired")

    def test_that_expired_opens_its_renewal_and_nothing_else(self, service: InProcess) -> None:
        name, former = joined(service)
        registration = {"agent": name, "device_kinds": ["cpu"]}
        change(service, tables.tokens, tables.tokens.c.agent == name, expires_at=lambda now: now)
        with client(service, former) as agent:
            for response in (
                agent.post("/v1/worker/agents", json=registration),
                agent.post("/v1/worker/claims", json=registration),
                agent.post("/v1/worker/sign-off", json={"agent": name}),
                agent.get("/v1/jobs"),
            ):
                assert refusal(response) == (401, "token_expired")
            # The answer to a renewal may be lost.
            lost, renewed = (agent.post("/v1/worker/token").json()["token"] for _ in range(2))
        assert lost != renewed
        with client(service, renewed) as agent:
            assert agent.post("/v1/worker/agents", json=registration).status_code == 204
        with client(service, former) as agent:
            assert refusal(agent.post("/v1/worker/token")) == (401, "not_authenticated")

    def test_that_expired_still_leaves(self, service: InProcess) -> None:
        name, token = joined(service)
        change(service, tables.tokens, tables.tokens.c.agent == name, expires_at=lambda now: now)
        with client(service, token) as agent:
            assert agent.post("/v1/worker/leave").status_code == 204
        assert service.user.get(f"/v1/agents/{name}").status_code == 404

    def test_that_expired_of_a_removed_agent_is_refused(self, service: InProcess) -> None:
        name, token = joined(service)
        change(service, tables.tokens, tables.tokens.c.agent == name, expires_at=lambda now: now)
        assert service.user.delete(f"/v1/agents/{name}").status_code == 204
        with client(service, token) as agent:
            assert refusal(agent.post("/v1/worker/token")) == (401, "not_authenticated")

    def test_of_a_user_that_expired_opens_no_renewal(self, service: InProcess) -> None:
        made = service.user.post(
            "/v1/tokens", json={"name": "late", "role": "user", "seconds": 600}
        ).json()
        key = tables.tokens.c.id == made["about"]["id"]
        change(service, tables.tokens, key, expires_at=lambda now: now)
        with client(service, made["token"]) as late:
            assert refusal(late.post("/v1/worker/token")) == (401, "token_expired")

    def test_of_two_processes_with_it_the_later_one_works(self, service: InProcess) -> None:
        name, token = joined(service)
        registration = {"agent": name, "device_kinds": ["cpu"]}
        wake_up = f"/v1/worker/wakeups?agent={name}"
        with contextlib.ExitStack() as closing:
            processes = [closing.enter_context(client(service, token)) for _ in range(3)]
            for number, process in enumerate(processes):
                process.headers[messages.SESSION_HEADER] = f"process-{number}"
                assert process.post("/v1/worker/agents", json=registration).status_code == 204
            *former, latest = processes
            for process in former:
                for response in (
                    process.post("/v1/worker/agents", json=registration),
                    process.post("/v1/worker/claims", json={**registration, "job_id": "job_x"}),
                    process.get(wake_up),
                    process.post("/v1/worker/sign-off", json={"agent": name}),
                ):
                    assert refusal(response) == (409, "agent_replaced")
            assert latest.get(wake_up).status_code == 200
            assert latest.post("/v1/worker/agents", json=registration).status_code == 204

    def test_ends_when_the_agent_leaves(self, service: InProcess) -> None:
        name, token = joined(service)
        with client(service, token) as agent:
            assert agent.post("/v1/worker/leave").status_code == 204
            assert agent.post("/v1/worker/leave").status_code == 401
        with service.database.read() as transaction:
            left = select(tables.agents.c.name).where(tables.agents.c.name == name)
            assert transaction.connection.execute(left).first() is None
        assert Machine(service).join(join_token(service)["token"], name).status_code == 201
