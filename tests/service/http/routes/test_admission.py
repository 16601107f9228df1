"""Specs that no agent can run are refused with what there is; on both databases."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import func, select, update

from ipulse_service.agents.known_agent import KnownAgent
from ipulse_service.agents.needs import Needs, Requirements
from ipulse_service.db import tables
from ipulse_service.jobs.queue import admission
from tests.service.http.routes.test_queue import announce, waits
from tests.service.http.routes.test_scheduling import submit
from tests.service.http.routes.test_submission import check_problem
from tests.service.running import SPEC, InProcess

SHD = {**SPEC, "data": {"kind": "shd", "steps": 10}}


def emulated(ipus: int, **more: Any) -> dict[str, Any]:
    return {**SPEC, "device": {"kind": "emulator", "ipus": ipus, **more}}


def refusal(service: InProcess, spec: dict[str, Any], code: str) -> list[dict[str, Any]]:
    """Return the problems, which submission and validation report alike."""
    answers = [
        check_problem(service.user.post(path, json=spec), 422)
        for path in ("/v1/jobs", "/v1/jobs:validate")
    ]
    assert [answer["code"] for answer in answers] == [code, code]
    assert answers[0]["errors"] == answers[1]["errors"]
    problems: list[dict[str, Any]] = answers[0]["errors"]
    return problems


def accepted(service: InProcess, spec: dict[str, Any]) -> str:
    assert service.user.post("/v1/jobs:validate", json=spec).status_code == 200
    return submit(service, spec)


def grow_old(service: InProcess, agent: str) -> None:
    """Make an agent absent, but known."""
    with service.database.write() as transaction:
        old = update(tables.agents).where(tables.agents.c.name == agent)
        transaction.connection.execute(old.values(seen_at=transaction.now - 3_600_000))


def test_a_kind_of_device_that_no_agent_has(alone: InProcess) -> None:
    announce(alone, "a", "ipu")
    [problem] = refusal(alone, SPEC, "no_such_device")
    assert problem["pointer"] == "/device/kind"
    assert "ipu" in problem["detail"]
    announce(alone, "b", "cpu")
    accepted(alone, SPEC)


def test_more_ipus_than_any_agent_has(alone: InProcess) -> None:
    announce(alone, "a", "emulator", ipus={"emulator": 2})
    announce(alone, "b", "emulator", "cpu", ipus={"emulator": 4})
    [problem] = refusal(alone, emulated(64), "no_matching_agent")
    assert (problem["pointer"], problem["code"]) == ("/device/ipus", "too_few_devices")
    assert {"4", "64:"} <= set(problem["detail"].split())
    accepted(alone, emulated(4))
    accepted(alone, emulated(64, connection_type="NEVER"))  # it attaches none
    accepted(alone, SPEC)


def test_a_data_set_that_no_agent_has(alone: InProcess) -> None:
    announce(alone, "a", "cpu", data_sets=["npz/mine", "shd/other"])
    [problem] = refusal(alone, SHD, "no_matching_agent")
    assert (problem["pointer"], problem["code"]) == ("/data/name", "no_such_data_set")
    assert "npz/mine, shd/other" in problem["detail"]
    announce(alone, "a", "cpu", data_sets=["npz/mine", "shd/shd"])
    accepted(alone, SHD)


def test_all_that_is_missing_is_said_at_once(alone: InProcess) -> None:
    announce(alone, "a", "emulator", ipus={"emulator": 4}, data_sets=[])
    problems = refusal(alone, {**emulated(8), "data": SHD["data"]}, "no_matching_agent")
    assert [problem["pointer"] for problem in problems] == ["/device/ipus", "/data/name"]


def test_one_agent_must_have_all_of_it(alone: InProcess) -> None:
    announce(alone, "large", "emulator", ipus={"emulator": 64}, data_sets=[])
    announce(alone, "full", "emulator", ipus={"emulator": 4}, data_sets=["shd/shd"])
    spec = {**emulated(64), "data": SHD["data"]}
    [problem] = refusal(alone, spec, "no_matching_agent")
    assert problem["code"] == "no_such_combination"


def test_the_list_of_agents_shows_what_each_has(alone: InProcess) -> None:
    facts = {"host": "large", "ipus": {"emulator": 8}, "data_sets": ["npz/a", "shd/shd"]}
    announce(alone, "a", "emulator", **facts)
    announce(alone, "b", "cpu")
    known, unknown = alone.user.get("/v1/agents").json()["agents"]
    assert facts.items() <= known.items()
    assert (unknown["host"], unknown["ipus"], unknown["data_sets"]) == ("", {}, None)


def test_before_an_agent_is_known_a_job_waits_for_the_first(alone: InProcess) -> None:
    job = accepted(alone, {**emulated(64), "data": SHD["data"]})
    assert waits(alone, job)["reason"] == "no_agent"


def test_an_agent_that_does_not_say_what_it_has_may_have_it(alone: InProcess) -> None:
    announce(alone, "old", "emulator")
    accepted(alone, {**emulated(64), "data": SHD["data"]})


def test_an_absent_agent_may_come_back(alone: InProcess) -> None:
    announce(alone, "a", "emulator", ipus={"emulator": 64}, host="large")
    announce(alone, "b", "emulator", ipus={"emulator": 4}, host="small")
    grow_old(alone, "a")
    job = accepted(alone, emulated(64))
    assert waits(alone, job)["reason"] == "no_match"


def test_an_absent_agent_of_unknown_inventory_is_named_with_the_remedy(alone: InProcess) -> None:
    announce(alone, "old-one", "cpu")
    announce(alone, "b", "cpu", data_sets=["npz/mine"])
    grow_old(alone, "old-one")
    waiting = waits(alone, accepted(alone, SHD))
    assert waiting["reason"] == "no_match"
    assert "old-one" in waiting["detail"]
    assert "ipulse agent remove" in waiting["detail"]
    assert alone.user.delete("/v1/agents/old-one").status_code == 204
    refusal(alone, SHD, "no_matching_agent")


def test_what_took_the_place_of_an_absent_agent_counts(alone: InProcess) -> None:
    announce(alone, "host-1", "emulator", ipus={"emulator": 64}, host="host")
    grow_old(alone, "host-1")
    announce(alone, "host-2", "emulator", ipus={"emulator": 4}, host="host")
    refusal(alone, emulated(64), "no_matching_agent")


def test_while_all_are_away_they_may_come_back_with_more(alone: InProcess) -> None:
    announce(alone, "a", "emulator", ipus={"emulator": 4}, data_sets=[])
    grow_old(alone, "a")
    accepted(alone, {**emulated(64), "data": SHD["data"]})
    refusal(alone, SPEC, "no_such_device")


def test_a_validation_writes_nothing(alone: InProcess) -> None:
    def rows() -> list[int]:
        with alone.database.read() as transaction:
            counts = (
                select(func.count()).select_from(table)
                for table in tables.metadata.sorted_tables
                if table not in (tables.trials, tables.clock_eras)  # of the service itself
            )
            return [transaction.connection.execute(count).scalar_one() for count in counts]

    announce(alone, "a", "cpu")
    before = rows()
    assert alone.user.post("/v1/jobs:validate", json=SPEC).status_code == 200
    assert rows() == before


def test_a_repeated_submission_finds_its_job_although_the_agent_has_left(
    alone: InProcess,
) -> None:
    announce(alone, "a", "emulator", ipus={"emulator": 8})
    headers = {"idempotency-key": "once"}
    first = alone.user.post("/v1/jobs", json=emulated(8), headers=headers).json()["id"]
    announce(alone, "a", "emulator", ipus={"emulator": 4})
    again = alone.user.post("/v1/jobs", json=emulated(8), headers=headers)
    assert again.json()["id"] == first


@pytest.mark.parametrize(
    "wrong",
    [
        {"ipus": {"emulator": -1}},
        {"ipus": {"emulator": True}},
        {"data_sets": ["x" * 200]},
        {"data_sets": ["x"] * 2001},
        {"host": "x" * 300},
        {"since": 1},
    ],
)
def test_a_registration_that_makes_no_sense_is_refused(
    alone: InProcess, wrong: dict[str, Any]
) -> None:
    body = {"agent": "a", "device_kinds": ["cpu"], **wrong}
    check_problem(alone.worker.post("/v1/worker/agents", json=body), 422)


SANDBOXED = Requirements(software=("sandbox",))
SITE = {"site": "b"}
MISSING = {"sandbox": False}


@pytest.mark.parametrize(
    ("needs", "pointer"),
    [
        (Needs("cpu", data_set="npz/mine", requires=SANDBOXED.to_text()), "/device/kind"),
        (Needs("cpu", requires=replace(SANDBOXED, labels=SITE).to_text()), "/device/where"),
    ],
)
def test_the_place_of_a_combination_is_in_the_spec(needs: Needs, pointer: str) -> None:
    agents = [
        KnownAgent("a", ("cpu",), data_sets=frozenset(["npz/mine"]), capabilities=MISSING),
        KnownAgent("b", ("cpu",), labels=SITE, capabilities=MISSING),
        KnownAgent("c", ("cpu",), data_sets=frozenset(), capabilities={"sandbox": "bubblewrap"}),
    ]
    [problem] = admission.misfit(agents, needs).problems
    assert (problem.code, problem.pointer) == ("no_such_combination", pointer)
    assert "sandbox" in problem.detail
