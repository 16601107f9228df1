"""Trials of a sweep that share an executable wait for the first of them to compile it."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import update

from ipulse.spec import parse_spec, spec_to_json
from ipulse_service.db import tables
from ipulse_service.jobs.dependencies import COMPILE_WAIT_MS
from ipulse_service.jobs.queue.executables import executable_key
from tests.service.agents import Attempt, phase
from tests.service.conditions import eventually
from tests.service.running import SPEC, InProcess
from tests.service.sweeps.sweeping import (
    NEURONS,
    RATE,
    begun,
    config,
    succeed,
    sweep_of,
    trials_of,
)

RATES = {RATE: {"values": [0.1, 0.01, 0.001]}}


def create(service: InProcess, device: dict[str, Any], **changes: Any) -> list[dict[str, Any]]:
    """Starts a sweep, and returns its jobs once all trials have begun."""
    spec = {**SPEC, "device": device}
    body = config(spec=spec, parallel=8, **{"parameters": RATES, **changes})
    response = service.user.post("/v1/sweeps", json=body)
    assert response.status_code == 201, response.text
    sweep = response.json()
    trials = begun(service, sweep["id"], sweep["trials"])
    return [service.job(job["id"]) for trial in trials for job in trial["jobs"]]


def states(service: InProcess, jobs: list[dict[str, Any]]) -> list[str]:
    return [service.job(job["id"])["state"] for job in jobs]


def enter(attempt: Attempt, *names: str) -> None:
    assert attempt.report(*map(phase, names)).status_code == 200


def cancel(service: InProcess, jobs: list[dict[str, Any]]) -> None:
    for job in jobs:
        service.user.post(f"/v1/jobs/{job['id']}/cancel")


def test_the_others_wait_until_it_has_compiled(service: InProcess) -> None:
    jobs = create(service, {"kind": "emulator"}, seeds=[1, 2])
    assert states(service, jobs) == ["queued"] + 5 * ["blocked"]
    first, second = jobs[0]["id"], jobs[1]
    waiting = service.job(second["id"])["waiting_on"]
    assert (waiting["reason"], waiting["holder"]) == ("compile", first)
    attempt = service.attempt(first)
    enter(attempt, "prepare", "compile", "acquire")
    service.state.reaper.reap()
    assert states(service, jobs[1:]) == 5 * ["blocked"]
    enter(attempt, "run")
    eventually(lambda: states(service, jobs[1:]) == 5 * ["queued"])
    assert service.job(second["id"])["created_at"] == second["created_at"]
    cancel(service, jobs)


def test_trials_that_begin_later_do_not_wait(service: InProcess) -> None:
    body = config(spec={**SPEC, "device": {"kind": "emulator"}}, parallel=1, parameters=RATES)
    sweep = service.user.post("/v1/sweeps", json=body).json()
    [trial] = begun(service, sweep["id"], 1)
    succeed(service.attempt(trial["jobs"][0]["id"]), 0.9)
    later = begun(service, sweep["id"], 2)[1]
    assert service.job(later["jobs"][0]["id"])["state"] == "queued"
    service.user.post(f"/v1/sweeps/{sweep['id']}/stop?running=cancel")
    cancel(service, [{"id": later["jobs"][0]["id"]}])


@pytest.mark.parametrize("how", ["cancelled", "failed"])
def test_the_others_go_on_without_it(service: InProcess, how: str) -> None:
    jobs = create(service, {"kind": "emulator"})
    if how == "failed":
        service.attempt(jobs[0]["id"]).finish("graph_refused")
    else:
        cancel(service, jobs[:1])
    eventually(lambda: states(service, jobs[1:]) == 2 * ["queued"])
    cancel(service, jobs)


def test_a_long_compilation_holds_nobody_for_ever(service: InProcess) -> None:
    jobs = create(service, {"kind": "emulator"})
    enter(service.attempt(jobs[0]["id"]), "prepare", "compile")
    with service.database.write() as transaction:
        this = update(tables.jobs).where(tables.jobs.c.id == jobs[0]["id"])
        before = transaction.now - COMPILE_WAIT_MS
        transaction.connection.execute(this.values(started_at=before))
    eventually(lambda: states(service, jobs[1:]) == 2 * ["queued"])
    cancel(service, jobs)


@pytest.mark.parametrize(
    ("device", "parameters"),
    [
        ({"kind": "cpu"}, RATES),  # compiles nothing that trials share
        ({"kind": "emulator"}, {NEURONS: {"values": [4, 8, 16]}}),  # three programs
        ({"kind": "emulator", "connection_type": "NEVER"}, RATES),  # keeps no executable
    ],
)
def test_others_are_not_held(
    service: InProcess, device: dict[str, Any], parameters: dict[str, Any]
) -> None:
    jobs = create(service, device, parameters=parameters)
    assert states(service, jobs) == 3 * ["queued"]
    cancel(service, jobs)


@pytest.mark.parametrize(("kind", "shares"), [("ipu", False), ("emulator", True)])
def test_trainings_that_load_custom_ops_share_no_program(kind: str, shares: bool) -> None:
    """On IPUs each has a cache of its own."""
    op = {"kind": "op", "op": "pool@sha256:" + "0" * 64, "neurons": 4}
    for layers, shared in (([{"neurons": 8}, op], shares), ([{"neurons": 8}], True)):
        network = {"layers": layers}
        spec = parse_spec({**SPEC, "network": network, "device": {"kind": kind}})
        assert (executable_key(spec_to_json(spec)) is not None) is shared


def test_a_held_trial_can_be_cancelled(service: InProcess) -> None:
    jobs = create(service, {"kind": "emulator"})
    cancel(service, jobs[1:])
    assert states(service, jobs[1:]) == 2 * ["cancelled"]
    succeed(service.attempt(jobs[0]["id"]), 0.9)
    eventually(lambda: sweep_of(service, jobs[0]["group"])["state"] == "ended")
    assert [trial["state"] for trial in trials_of(service, jobs[0]["group"])] == [
        "succeeded",
        "cancelled",
        "cancelled",
    ]
