"""clone, wait, and the lines of a log that are asked for."""

from __future__ import annotations

import pytest

from ipulse.client import Connection
from tests.ipulse.cli.conftest import FILES, SPEC, Run
from tests.ipulse.live_service import Agent


def test_a_clone_has_the_spec_of_the_job_but_for_its_settings(run: Run, client: Connection) -> None:
    job = client.submit({**SPEC, "seed": 3})
    ran = run("clone", job.id, "--set", "neurons=16", "--set", "seed=4", "--tag", "again")
    assert (ran.code, ran.err) == (0, "")
    made = client.job(ran.out.strip())
    assert made.id != job.id
    expected = client.job(job.id).json["spec"]
    expected["network"]["layers"][0]["neurons"], expected["seed"] = 16, 4
    assert (made.json["spec"], made.json["tags"]) == (expected, ["again"])


def test_a_wrong_setting_of_a_clone_is_an_error_with_its_place(
    run: Run, client: Connection
) -> None:
    ran = run("clone", client.submit(SPEC).id, "--set", "neurons=0")
    assert (ran.code, ran.out) == (2, "")
    assert "--set neurons=0: /network/layers/0/neurons" in ran.err


def test_wait_ends_with_the_jobs(run: Run, client: Connection, agent: Agent) -> None:
    first, second = client.submit(SPEC), client.submit(SPEC)
    agent.claim(first.id).run(FILES, [])
    assert run("watch", "--quiet", first.id).code == 0
    client.job(second.id).cancel()
    ran = run("watch", "--quiet", first.id, second.id, "--json")
    assert ran.code == 1
    assert [job["id"] for job in ran.json["jobs"]] == [first.id, second.id]


def test_wait_gives_up_in_time(run: Run, client: Connection) -> None:
    job = client.submit(SPEC)
    ran = run("watch", "--quiet", job.id, "--timeout", "0.1")
    assert (ran.code, ran.out) == (6, "")
    assert job.id in ran.err


@pytest.mark.parametrize(
    ("options", "lines"),
    [
        (("--level", "warning"), ["is odd", "is wrong"]),
        (("--grep", "^is"), ["is fine", "is odd", "is wrong"]),
        (("--level", "error", "--grep", "fine"), []),
    ],
)
def test_logs_are_filtered(
    run: Run, client: Connection, agent: Agent, options: tuple[str, ...], lines: list[str]
) -> None:
    job = client.submit(SPEC)
    attempt = agent.claim(job.id)
    attempt.report({"kind": "phase", "phase": "prepare"})
    for level, message in (("info", "is fine"), ("warning", "is odd"), ("error", "is wrong")):
        attempt.report({"kind": "log", "message": message, "level": level})
    attempt.report({"kind": "log", "message": "the end"})
    assert run("logs", job.id, *options).out.splitlines() == lines
    attempt.finish("out_of_memory")


@pytest.mark.parametrize("options", [("--level", "loud"), ("--grep", "(")])
def test_wrong_filters_are_refused(run: Run, client: Connection, options: tuple[str, ...]) -> None:
    ran = run("logs", client.submit(SPEC).id, *options)
    assert (ran.code, ran.out) == (2, "")
