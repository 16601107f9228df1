"""Agents and devices are listed with what they hold; an agent can be drained and removed."""

from __future__ import annotations

import secrets

import pytest
from sqlalchemy import update

from ipulse_service.db import tables
from tests.service.agents import Attempt
from tests.service.conditions import eventually
from tests.service.http.routes.joined_agent import JoinedAgent
from tests.service.http.routes.test_submission import check_problem
from tests.service.joined import Machine, client, join_token
from tests.service.running import SPEC, InProcess


class TestList:
    def test_shows_who_holds_what_since_when(self, agent: JoinedAgent) -> None:
        assert agent.shown["state"] == "idle"
        assert agent.shown["labels"] == {"site": "b"}
        assert agent.shown["version"] == "0.0.1"
        assert agent.shown["holds"] is None
        assert {kind: device["state"] for kind, device in agent.devices.items()} == {
            "emulator": "free",
            "cpu": "free",
        }
        attempt = agent.hold()
        holds = agent.shown["holds"]
        job = agent.service.job(attempt.claim["job_id"])
        assert (holds["job_id"], holds["device"]) == (job["id"], "emulator")
        assert holds["since"] == job["attempts"][-1]["started_at"]
        assert agent.shown["state"] == "busy"
        assert agent.devices["emulator"]["state"] == "busy"
        assert agent.devices["emulator"]["holds"] == holds
        assert agent.devices["cpu"]["state"] == "agent_busy"
        attempt.complete()
        assert agent.shown["state"] == "idle"

    def test_shows_a_silent_agent_as_offline(self, agent: JoinedAgent) -> None:
        agent.be_silent()
        assert agent.shown["state"] == "offline"
        assert {device["state"] for device in agent.devices.values()} == {"offline"}
        agent.register()
        assert agent.shown["state"] == "idle"

    def test_shows_an_agent_that_has_stopped_as_offline(self, agent: JoinedAgent) -> None:
        spec = {**SPEC, "device": {"kind": "emulator"}}
        job = agent.service.submit(spec)["id"]
        assert agent.service.job(job)["waiting_on"]["reason"] == "wake_up"
        assert agent.sign_off().status_code == 204
        assert agent.shown["state"] == "offline"
        assert {device["state"] for device in agent.devices.values()} == {"offline"}
        waiting = agent.service.job(job)["waiting_on"]
        assert (waiting["reason"], waiting["estimated_start"]) == ("no_agent", None)
        assert agent.register().status_code == 204
        assert agent.shown["state"] == "idle"
        assert agent.service.job(job)["waiting_on"]["reason"] == "wake_up"
        response = agent.claim(job)
        assert response.status_code == 200, response.text
        Attempt(agent.http, response.json()).complete()

    def test_shows_one_that_was_started_again_once(self, service: InProcess) -> None:
        host, other = secrets.token_hex(4), secrets.token_hex(4)
        kinds = ["cpu", "emulator"]

        def register(name: str, host: str = host, kinds: list[str] = kinds) -> None:
            body = {"agent": name, "device_kinds": kinds, "host": host}
            assert service.worker.post("/v1/worker/agents", json=body).status_code == 204

        def stop(name: str) -> None:
            response = service.worker.post("/v1/worker/sign-off", json={"agent": name})
            assert response.status_code == 204

        def listed() -> set[str]:
            found = service.user.get("/v1/agents").json()["agents"]
            return {each["name"] for each in found if each["host"] in (host, other)}

        names = [f"{host}-{number}" for number in range(5)]
        for name in names[:3]:
            register(name)
        register(names[3], kinds=["ipu"])
        register(other, other)
        for name in (names[0], names[1], names[3], other):
            stop(name)
        drained = service.user.post(f"/v1/agents/{names[1]}:drain", json={})
        assert drained.status_code == 200
        register(names[4])
        # One that runs, one that drains, one with another device, and one elsewhere stay.
        assert listed() == {*names[1:], other}

    def test_shows_a_device_in_quarantine(self, agent: JoinedAgent) -> None:
        body = {"agent": agent.name, "device_kinds": agent.kinds, "quarantined": ["cpu"]}
        assert agent.http.post("/v1/worker/agents", json=body).status_code == 204
        assert agent.devices["cpu"]["state"] == "quarantined"
        assert agent.devices["emulator"]["state"] == "free"

    def test_an_unknown_agent_is_not_found(self, service: InProcess) -> None:
        assert service.user.get("/v1/agents/nobody").status_code == 404
        assert service.user.delete("/v1/agents/nobody").status_code == 404
        for order in ("drain", "resume"):
            response = service.user.post(f"/v1/agents/nobody:{order}", json={})
            assert response.status_code == 404


class TestRemoval:
    def test_makes_its_token_invalid(self, agent: JoinedAgent) -> None:
        attempt = agent.hold()
        assert agent.service.user.delete(f"/v1/agents/{agent.name}").status_code == 204
        assert agent.register().status_code == 401
        assert attempt.heartbeat().status_code == 401
        assert agent.service.user.get(f"/v1/agents/{agent.name}").status_code == 404

    def test_keeps_its_name_from_others_while_its_job_is_held(self, agent: JoinedAgent) -> None:
        attempt = agent.hold()
        job = attempt.claim["job_id"]
        assert agent.service.user.delete(f"/v1/agents/{agent.name}").status_code == 204
        token = join_token(agent.service)
        heir = Machine(agent.service)
        refused = heir.join(token["token"], agent.name)
        assert (refused.status_code, refused.json()["code"]) == (409, "agent_name_in_use")
        listed = agent.service.user.get("/v1/join-tokens").json()["join_tokens"]
        assert token["about"] in listed  # its use was not taken
        with agent.service.database.write() as transaction:
            ends = update(tables.attempts).where(
                tables.attempts.c.id == attempt.claim["attempt_id"]
            )
            transaction.connection.execute(ends.values(lease_expires_at=transaction.now))
        eventually(lambda: agent.service.job(job)["attempts"][-1]["finished_at"])
        assert heir.join(token["token"], agent.name).status_code == 201
        assert agent.service.user.post(f"/v1/jobs/{job}/cancel").status_code == 200

    def test_of_one_that_would_register_again_is_refused(self, service: InProcess) -> None:
        body = {"agent": "beside-the-service", "device_kinds": ["cpu"]}
        assert service.worker.post("/v1/worker/agents", json=body).status_code == 204
        response = service.user.delete("/v1/agents/beside-the-service")
        assert (response.status_code, response.json()["code"]) == (409, "agent_present")

    def test_is_the_owners(self, service: InProcess, agent: JoinedAgent) -> None:
        for role in ("user", "reader"):
            body = {"name": "x", "role": role, "seconds": 60}
            token = service.user.post("/v1/tokens", json=body).json()["token"]
            with client(service, token) as other:
                assert other.get("/v1/agents").status_code == 200
                assert other.delete(f"/v1/agents/{agent.name}").status_code == 403
                assert other.post(f"/v1/agents/{agent.name}:drain", json={}).status_code == 403
                assert other.post("/v1/join-tokens", json={}).status_code == 403


@pytest.mark.parametrize(
    "name", ["", "../other", "a/b", "a b", "a\nb", "a\u2028b", "a\u202eb", "a\x07"]
)
def test_a_name_that_no_path_could_contain_is_refused(service: InProcess, name: str) -> None:
    body = {"agent": name, "device_kinds": ["cpu"]}
    response = service.worker.post("/v1/worker/agents", json=body)
    check_problem(response, 422)
    listed = service.user.get("/v1/agents").json()["agents"]
    assert name not in [agent["name"] for agent in listed]
