"""pool and plan: sets of workers, and what a job would wait for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.ipulse.cli.conftest import Run
from tests.ipulse.live_service import LiveService
from tests.ipulse.reserved_pool import reserved_pool


@pytest.fixture
def lab(run: Run) -> Iterator[str]:
    made = run("pool", "create", "lab", "--agents", "lab-*", "--projects", "default", "--json")
    assert made.code == 0, made.err
    assert (made.json["agents"], made.json["projects"]) == (["lab-*"], ["default"])
    yield "lab"
    assert run("pool", "delete", "lab", "--yes").code == 0
    assert "lab" not in run("pool", "list").out


def test_a_pool_is_listed_changed_and_deleted_after_a_question(run: Run, lab: str) -> None:
    assert lab in run("pool", "list").out
    changed = run("pool", "edit", lab, "--projects", "all", "--preemption", "share", "--json")
    assert (changed.json["projects"], changed.json["preemption"]) == (None, "share")
    assert run("pool", "edit", lab).code == 2
    assert run("pool", "delete", lab).code == 2  # there is no terminal to ask
    assert run("pool", "create", lab).code != 0


def test_no_more_workers_are_reserved_than_a_pool_has(run: Run, lab: str) -> None:
    refused = run("pool", "reserve", lab, "--project", "default", "--hours", "8")
    assert (refused.code, "0 agents" in refused.err) == (2, True), refused.err
    assert run("pool", "reservations", "--json").json["reservations"] == []
    assert run("pool", "release", "rsv_0b5c2e6f7a8d9c1e2f3a4b5c").code == 3


def test_a_plan_says_what_a_job_and_a_sweep_would_wait_for(run: Run, lab: str) -> None:
    job = run("plan", "examples/digits.yaml", "--set", f"device.pool={lab}", "--json")
    assert job.code == 0, job.err
    assert job.json["able_agents"] == 0
    vary = ("--vary", "learning_rate=0.001,0.01", "--seeds", "3")
    sweep = run("plan", "examples/digits.yaml", *vary, "--json")
    assert sweep.code == 0, sweep.err
    assert sweep.json["trials"] == 2
    assert run("plan", "examples/digits.yaml", *vary).out


def test_a_limit_lets_a_job_start_before_a_reservation(run: Run, service: LiveService) -> None:
    agent = service.agent("reserved")  # which has no job of another test
    with closing(agent), reserved_pool(service, agent) as pool:
        planned = ("plan", "examples/digits.yaml", "--set", f"device.pool={pool}")
        long = run(*planned, "--run-seconds", "7200", "--json")
        assert long.json["waiting_on"]["reason"] == "reservation", long.err
        limited = run(*planned, "--run-seconds", "60", "--json")
        assert limited.json["waiting_on"]["reason"] == "wake_up", limited.err
    refused = run(
        "plan",
        "examples/digits.yaml",
        "--seeds",
        "3",
        "--vary",
        "learning_rate=1",
        "--run-seconds",
        "60",
    )
    assert (refused.code, "--run-seconds" in refused.err) == (2, True), refused.err


def test_a_plan_has_the_cycles_of_a_training_step(run: Run, lab: str) -> None:
    place = ("--set", f"device.pool={lab}")
    found = run("plan", "examples/emulator.yaml", *place, "--json")
    assert found.code == 0, found.err
    cycles = found.json["cycles"]
    assert cycles["activity"]["basis"] == "assumed"
    shown = run("plan", "examples/emulator.yaml", *place).out
    assert f"{cycles['cycles']:,}" in shown
    assert f"{cycles['layers'][0]['backward']:,}" in shown
