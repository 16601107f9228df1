"""Agents and devices are listed with what they hold; an agent can be drained and removed."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from sqlalchemy import func, select, update

from ipulse_service.agents.registry import PRESENT_MS
from ipulse_service.db import tables
from tests.service.agents import Attempt
from tests.service.conditions import eventually
from tests.service.http.routes.test_submission import check_problem
from tests.service.joined import Machine, client, join_token, joined
from tests.service.running import SPEC, InProcess


class JoinedAgent:
    """An agent that has joined and registered."""

    def __init__(self, service: InProcess, *kinds: str, **wanted: Any) -> None:
        self.service = service
        self.name, token = joined(service, **wanted)
        self.http = client(service, token)
        self.kinds = list(kinds)
        self.register()

    def register(self) -> httpx.Response:
        body = {"agent": self.name, "device_kinds": self.kinds}
        return self.http.post("/v1/worker/agents", json=body)

    def sign_off(self) -> httpx.Response:
        return self.http.post("/v1/worker/sign-off", json={"agent": self.name})

    def claim(self, job_id: str) -> httpx.Response:
        body = {"job_id": job_id, "agent": self.name, "device_kinds": self.kinds}
        return self.http.post("/v1/worker/claims", json=body)

    def hold(self) -> Attempt:
        """An attempt at a job that comes first in the queue."""
        spec = {**SPEC, "device": {"kind": self.kinds[0]}}
        response = self.claim(self.service.submit(spec)["id"])
        assert response.status_code == 200, response.text
        return Attempt(self.http, response.json())

    @property
    def shown(self) -> dict[str, Any]:
        response = self.service.user.get(f"/v1/agents/{self.name}")
        assert response.status_code == 200
        found: dict[str, Any] = response.json()
        assert found in self.service.user.get("/v1/agents").json()["agents"]
        return found

    @property
    def devices(self) -> dict[str, dict[str, Any]]:
        listed = self.service.user.get("/v1/devices").json()["devices"]
        return {device["kind"]: device for device in listed if device["agent"] == self.name}

    def order(self, order: str, body: dict[str, Any] | None = None) -> httpx.Response:
        return self.service.user.post(f"/v1/agents/{self.name}:{order}", json=body)

    def be_silent(self) -> None:
        with self.service.database.write() as transaction:
            this = update(tables.agents).where(tables.agents.c.name == self.name)
            silent = this.values(seen_at=transaction.now - PRESENT_MS)
            transaction.connection.execute(silent)


@pytest.fixture
def agent(service: InProcess) -> Iterator[JoinedAgent]:
    """It is the only one with emulated IPUs, so that no job of another test is in its way."""
    made = JoinedAgent(service, "emulator", "cpu", labels={"site": "b"})
    yield made
    made.sign_off()
    made.http.close()


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


class TestDrain:
    def test_keeps_jobs_away_until_it_ends(self, agent: JoinedAgent) -> None:
        assert agent.order("drain", {}).json()["state"] == "drained"
        job_id = agent.service.submit({**SPEC, "device": {"kind": "emulator"}})["id"]
        refused = agent.claim(job_id)
        assert (refused.status_code, refused.json()["code"]) == (409, "agent_draining")
        assert agent.register().json()["draining"] is True
        hint = agent.http.get(f"/v1/worker/wakeups?agent={agent.name}&kind=emulator")
        assert hint.json() == {"job_id": None, "draining": True}
        assert agent.order("resume").json()["state"] == "idle"
        assert agent.register().status_code == 204
        claimed = agent.claim(job_id)
        assert claimed.status_code == 200
        Attempt(agent.http, claimed.json()).complete()

    def test_lets_a_job_end(self, agent: JoinedAgent) -> None:
        attempt = agent.hold()
        drained = agent.order("drain", {}).json()
        assert (drained["state"], drained["drain_until"]) == ("draining", None)
        assert attempt.heartbeat().json()["must_return"] is False
        assert attempt.complete()["state"] == "succeeded"
        assert agent.shown["state"] == "drained"
        agent.order("resume")

    def test_with_a_limit_takes_the_job_back(self, agent: JoinedAgent) -> None:
        attempt = agent.hold()
        agent.order("drain", {"seconds": 3600})
        assert attempt.heartbeat().json()["must_return"] is False
        agent.order("drain", {"seconds": 0})
        assert attempt.heartbeat().json()["must_return"] is True
        job = attempt.finish("worker_stopped").json()
        assert job["state"] in ("retry_wait", "queued")
        assert agent.shown["state"] == "drained"

    def test_outlives_a_restart_of_the_agent(self, agent: JoinedAgent) -> None:
        agent.order("drain", {})
        agent.be_silent()
        token = join_token(agent.service)["token"]
        assert Machine(agent.service).join(token, agent.name).status_code == 201
        assert agent.shown["state"] == "drained"

    def test_no_claim_succeeds_after_its_answer(self, agent: JoinedAgent) -> None:
        """Claims come from several threads while the drain begins."""
        spec = {**SPEC, "device": {"kind": "emulator"}}
        jobs = [agent.service.submit(spec)["id"] for _ in range(12)]
        is_drained = threading.Event()
        statuses: dict[bool, list[int]] = {False: [], True: []}  # by whether it was drained

        def claim(own: list[str]) -> None:
            for job_id in own:
                before = is_drained.is_set()
                statuses[before].append(agent.claim(job_id).status_code)
            is_drained.wait()
            statuses[True].append(agent.claim(own[0]).status_code)

        threads = [threading.Thread(target=claim, args=(jobs[n::4],)) for n in range(4)]
        for thread in threads:
            thread.start()
        agent.order("drain", {})
        held = self.held_by(agent)
        is_drained.set()
        for thread in threads:
            thread.join()
        assert self.held_by(agent) == held
        assert set(statuses[True]) == {409}
        assert sum(status == 200 for status in statuses[False]) == held
        for job_id in jobs:
            agent.service.user.post(f"/v1/jobs/{job_id}/cancel")

    @staticmethod
    def held_by(agent: JoinedAgent) -> int:
        with agent.service.database.read() as transaction:
            of_agent = (
                tables.attempts.c.agent == agent.name,
                tables.attempts.c.finished_at.is_(None),
            )
            query = select(func.count()).select_from(tables.attempts).where(*of_agent)
            return int(transaction.connection.execute(query).scalar_one())

    @pytest.mark.parametrize(
        "body", [{"seconds": -1}, {"seconds": 10**9}, {"seconds": "5"}, {"until": 5}, []]
    )
    def test_a_wrong_request_is_explained(self, agent: JoinedAgent, body: Any) -> None:
        response = agent.service.user.post(f"/v1/agents/{agent.name}:drain", json=body)
        assert response.status_code == 422
        assert agent.shown["draining_since"] is None


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
