"""An agent that drains takes no more jobs."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from sqlalchemy import func, select

from ipulse_service.db import tables
from tests.service.agents import Attempt
from tests.service.conditions import eventually
from tests.service.http.routes.joined_agent import JoinedAgent
from tests.service.joined import Machine, join_token
from tests.service.running import SPEC


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

    def test_n16_with_a_limit_takes_the_job_back_to_its_place(self, agent: JoinedAgent) -> None:
        attempt = agent.hold()
        agent.order("drain", {"seconds": 3600})
        assert attempt.heartbeat().json()["must_return"] is False
        agent.order("drain", {"seconds": 0})
        assert attempt.heartbeat().json()["must_return"] is True
        later = agent.service.submit({**SPEC, "device": {"kind": "emulator"}})["id"]
        job = attempt.finish("worker_stopped").json()
        assert job["state"] in ("retry_wait", "queued")
        assert agent.shown["state"] == "drained"
        agent.order("resume")
        eventually(lambda: agent.service.job(job["id"])["state"] == "queued")
        for expected in (job["id"], later):
            claimed = agent.claim(None)
            assert claimed.json()["job_id"] == expected
            Attempt(agent.http, claimed.json()).complete()

    def test_outlives_a_restart_of_the_agent(self, agent: JoinedAgent) -> None:
        agent.order("drain", {})
        agent.be_silent()
        token = join_token(agent.service)["token"]
        assert Machine(agent.service).join(token, agent.name).status_code == 201
        assert agent.shown["state"] == "drained"

    def test_n16_no_claim_succeeds_after_its_answer(self, agent: JoinedAgent) -> None:
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
