"""Agents of other machines join with a token that works as often as it says, and no more."""

from __future__ import annotations

import secrets
import threading
from typing import Any

import httpx
import pytest
from sqlalchemy import update

from ipulse_service.agents.known_agent import PRESENT_MS
from ipulse_service.db import tables
from tests.service.agents import Attempt
from tests.service.joined import Machine, client, join_token, joined
from tests.service.running import InProcess


def change(service: InProcess, table: Any, key: Any, **values: Any) -> None:
    with service.database.write() as transaction:
        given = {k: v(transaction.now) if callable(v) else v for k, v in values.items()}
        transaction.connection.execute(update(table).where(key).values(given))


def refusal(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, response.json()["code"]


class TestJoinToken:
    def test_a_replayed_one_is_refused(self, service: InProcess) -> None:
        token = join_token(service, labels={"site": "b"})["token"]
        machine = Machine(service)
        answer = machine.join(token, "replayed")
        assert answer.status_code == 201
        assert answer.json()["labels"] == {"site": "b"}
        assert refusal(Machine(service).join(token, "other")) == (401, "join_token_used")
        assert refusal(machine.join(token, "other")) == (401, "join_token_used")

    def test_the_same_machine_may_repeat_a_request_whose_answer_was_lost(
        self, service: InProcess
    ) -> None:
        token, machine = join_token(service)["token"], Machine(service)
        lost, repeated = (machine.join(token, "repeated") for _ in range(2))
        assert (lost.status_code, repeated.status_code) == (201, 201)
        with client(service, repeated.json()["token"]) as agent:
            assert agent.get("/v1/worker/wakeups?agent=repeated").status_code == 200
        with client(service, lost.json()["token"]) as agent:
            assert agent.get("/v1/worker/wakeups?agent=repeated").status_code == 401

    def test_n14_machines_that_come_at_once_get_as_many_uses_as_there_are(
        self, service: InProcess
    ) -> None:
        uses, machines = 3, 8
        token = join_token(service, uses=uses)["token"]
        statuses: list[int] = []
        start = threading.Barrier(machines)

        def come(number: int) -> None:
            start.wait()
            statuses.append(Machine(service).join(token, f"crowd-{number}").status_code)

        threads = [threading.Thread(target=come, args=(number,)) for number in range(machines)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(statuses) == [201] * uses + [401] * (machines - uses)

    def test_an_expired_one_is_named(self, service: InProcess) -> None:
        made = join_token(service)
        key = tables.join_tokens.c.id == made["about"]["id"]
        change(service, tables.join_tokens, key, expires_at=lambda now: now)
        answer = Machine(service).join(made["token"], "late")
        assert refusal(answer) == (401, "join_token_expired")

    def test_it_opens_no_other_door(self, service: InProcess) -> None:
        with client(service, join_token(service)["token"]) as nobody:
            for path in ("/v1/jobs", "/v1/worker/wakeups?agent=x", "/v1/tokens"):
                assert nobody.get(path).status_code == 403, path
            body = {"agent": "x", "device_kinds": ["cpu"]}
            assert nobody.post("/v1/worker/agents", json=body).status_code == 403

    def test_a_forged_one_is_none(self, service: InProcess) -> None:
        good = join_token(service)["token"]
        for bad in (good[:-1] + ("A" if good[-1] != "A" else "B"), good[:30], "ipj_", good + "x"):
            assert refusal(Machine(service).join(bad, "forger")) == (401, "not_authenticated")

    @pytest.mark.parametrize(
        "wanted",
        [
            {"uses": 0},
            {"uses": 1001},
            {"seconds": 0},
            {"seconds": 10**9},
            {"labels": {"a=b": "c"}},
            {"labels": {"a": "B"}},
            {"labels": {"": "b"}},
            {"labels": {f"l{number}": "x" for number in range(65)}},
            {"labels": ["a"]},
            {"pool": "x"},
        ],
    )
    def test_a_wrong_request_is_explained(self, service: InProcess, wanted: dict[str, Any]) -> None:
        response = service.user.post("/v1/join-tokens", json=wanted)
        assert response.status_code == 422
        assert response.json()["errors"][0]["pointer"].startswith(f"/{next(iter(wanted))}")


class TestName:
    def test_of_another_machine_that_is_present_is_refused(self, service: InProcess) -> None:
        first = Machine(service)
        assert first.join(join_token(service)["token"], "taken").status_code == 201
        answer = Machine(service).join(join_token(service)["token"], "taken")
        assert refusal(answer) == (409, "agent_name_in_use")
        again = first.join(join_token(service)["token"], "taken")
        assert again.status_code == 201

    def test_is_free_once_its_agent_was_silent_and_the_former_token_ends(
        self, service: InProcess
    ) -> None:
        name, former = joined(service)
        key = tables.agents.c.name == name
        change(service, tables.agents, key, seen_at=lambda now: now - PRESENT_MS)
        assert Machine(service).join(join_token(service)["token"], name).status_code == 201
        with client(service, former) as agent:
            assert agent.get(f"/v1/worker/wakeups?agent={name}").status_code == 401

    def test_of_one_that_has_stopped_is_taken_at_once_with_replace(
        self, service: InProcess
    ) -> None:
        name, former = joined(service)
        token, other = join_token(service)["token"], Machine(service)
        registration = {"agent": name, "device_kinds": ["cpu"]}
        with client(service, former) as agent:
            assert agent.post("/v1/worker/agents", json=registration).status_code == 204
            present = other.join(token, name, replace=True)
            assert refusal(present) == (409, "agent_name_in_use")
            assert agent.post("/v1/worker/sign-off", json={"agent": name}).status_code == 204
            assert refusal(other.join(token, name)) == (409, "agent_name_in_use")
            assert other.join(token, name, replace=True).status_code == 201
            assert agent.post("/v1/worker/agents", json=registration).status_code == 401

    def test_of_one_that_holds_a_job_is_not_replaced(self, service: InProcess) -> None:
        name, former = joined(service)
        job_id = service.submit()["id"]
        attempt = service.attempt(job_id)
        held = tables.attempts.c.id == attempt.claim["attempt_id"]
        change(service, tables.attempts, held, agent=name)
        with client(service, former) as agent:
            assert agent.post("/v1/worker/sign-off", json={"agent": name}).status_code == 204
            token, other = join_token(service)["token"], Machine(service)
            refused = other.join(token, name, replace=True)
            assert refusal(refused) == (409, "agent_name_in_use")
            assert Attempt(agent, attempt.claim).complete()["state"] == "succeeded"
        assert other.join(token, name, replace=True).status_code == 201

    def test_that_is_new_ends_the_former_agent_of_the_machine(self, service: InProcess) -> None:
        machine = Machine(service)
        former, token = f"agent-{secrets.token_hex(4)}", join_token(service, uses=4)["token"]
        answer = machine.join(token, former)
        with client(service, answer.json()["token"]) as agent:
            registration = {"agent": former, "device_kinds": ["cpu"]}
            assert agent.post("/v1/worker/agents", json=registration).status_code == 204
            # One that is present runs on another machine with a copy of the disk.
            assert machine.join(token, f"{former}-copy").status_code == 201
            assert agent.post("/v1/worker/agents", json=registration).status_code == 204
            assert agent.post("/v1/worker/sign-off", json={"agent": former}).status_code == 204
            assert Machine(service).join(token, f"{former}-other").status_code == 201
            assert service.user.get(f"/v1/agents/{former}").status_code == 200
            assert machine.join(token, f"{former}-new").status_code == 201
            refused = agent.post("/v1/worker/agents", json=registration)
        assert refused.status_code == 401
        assert service.user.get(f"/v1/agents/{former}").status_code == 404

    @pytest.mark.parametrize("name", ["", ".x", "a b", "a/b", "x" * 64, "\u202eabc", "ä"])
    def test_that_cannot_be_one_is_refused(self, service: InProcess, name: str) -> None:
        answer = Machine(service).join(join_token(service)["token"], name)
        assert answer.status_code == 422
        assert answer.json()["errors"][0]["pointer"] == "/name"


class TestRevocation:
    def test_takes_an_unused_token_back_and_leaves_agents_alone(self, service: InProcess) -> None:
        made = join_token(service, uses=2, labels={"site": "c"})
        listed = service.user.get("/v1/join-tokens").json()["join_tokens"]
        assert made["about"] in listed
        assert made["token"] not in str(listed)
        joined_with_it = Machine(service).join(made["token"], "before-the-revocation")
        path = f"/v1/join-tokens/{made['about']['id']}"
        assert service.user.delete(path).status_code == 204
        assert service.user.delete(path).status_code == 404
        refused = Machine(service).join(made["token"], "after-the-revocation")
        assert refusal(refused) == (401, "not_authenticated")
        with client(service, joined_with_it.json()["token"]) as agent:
            wake_up = agent.get("/v1/worker/wakeups?agent=before-the-revocation")
            assert wake_up.status_code == 200

    def test_used_and_expired_ones_are_not_listed(self, service: InProcess) -> None:
        used, expired = join_token(service), join_token(service)
        assert Machine(service).join(used["token"], "user-of-it").status_code == 201
        key = tables.join_tokens.c.id == expired["about"]["id"]
        change(service, tables.join_tokens, key, expires_at=lambda now: now)
        listed = service.user.get("/v1/join-tokens").json()["join_tokens"]
        ids = {token["id"] for token in listed}
        assert not ids & {used["about"]["id"], expired["about"]["id"]}
