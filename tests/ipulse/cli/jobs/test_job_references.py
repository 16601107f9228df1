"""Jobs by the beginning of their ids and by `latest`, in every command that takes an id."""

from __future__ import annotations

import secrets
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ipulse.client import Connection, SeveralJobs
from ipulse_core.states import JobState
from tests.ipulse.cli.conftest import FILES, SPEC, Run
from tests.ipulse.live_service import Agent, LiveService


def renamed(service: LiveService, job_id: str, digits: str) -> str:
    """Give a job an id with these first digits, which a service would do by chance only."""
    new = f"job_{digits}{secrets.token_hex(12)[len(digits) :]}"
    with closing(sqlite3.connect(service.home / "ipulse.db", timeout=60)) as database, database:
        assert database.execute("UPDATE jobs SET id=? WHERE id=?", (new, job_id)).rowcount == 1
    return new


@pytest.fixture
def twins(service: LiveService, client: Connection) -> list[str]:
    """Two jobs with ids that begin with the same eight digits, the newer one last."""
    digits = secrets.token_hex(4)
    return [renamed(service, client.submit(SPEC).id, digits + last) for last in "0f"]


@pytest.mark.parametrize("length", [9, 24])
@pytest.mark.parametrize("prefix", ["", "job_"])
def test_the_first_digits_of_an_id_are_enough(
    run: Run, twins: list[str], prefix: str, length: int
) -> None:
    for job_id in twins:
        digits = job_id.removeprefix("job_")
        ran = run("status", prefix + digits[:length], "--json")
        assert (ran.code, ran.json["id"]) == (0, job_id)


def test_the_name_of_a_single_job_is_enough(run: Run, client: Connection) -> None:
    name = f"my job {secrets.token_hex(4)}, ü"
    first = client.submit({**SPEC, "name": name})
    assert run("status", name, "--json").json["id"] == first.id
    assert run("status", name.upper(), "--json").code == 3
    hexadecimal = secrets.token_hex(8)
    assert run("status", hexadecimal).code == 3
    client.job(first.id).edit(name=hexadecimal)
    assert run("status", hexadecimal, "--json").json["id"] == first.id
    second = client.submit({**SPEC, "name": hexadecimal})
    ran = run("cancel", hexadecimal)
    assert ran.code == 3
    assert {first.id, second.id} <= set(ran.err.split())
    assert client.job(second.id).state is JobState.QUEUED


def test_an_ambiguous_id_lists_the_candidates(
    run: Run, client: Connection, twins: list[str]
) -> None:
    shared = twins[0][:12]
    for command in ("status", "cancel", "pause"):
        ran = run(command, shared, "--json")
        assert (ran.code, ran.json["error"]["code"]) == (3, "not_found")
        for job_id in twins:
            assert job_id in ran.err
    assert {client.job(job_id).state for job_id in twins} == {JobState.QUEUED}


def test_many_candidates_are_cut(service: LiveService, run: Run, client: Connection) -> None:
    digits = secrets.token_hex(4)
    jobs = [renamed(service, client.submit(SPEC).id, f"{digits}{n:02x}") for n in range(12)]
    ran = run("status", digits)
    assert ran.code == 3
    assert sum(job_id in ran.err for job_id in jobs) == 10
    assert ran.err.endswith("...\n")


def test_latest_is_the_newest_job(run: Run, twins: list[str]) -> None:
    assert run("status", "latest", "--json").json["id"] == twins[1]
    assert run("status", "latest~0", "--json").json["id"] == twins[1]
    assert run("status", "latest~1", "--json").json["id"] == twins[0]
    assert run("status", "latest~99999").code == 3


def test_every_command_takes_them(
    run: Run, client: Connection, agent: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    job_id = client.submit(SPEC).id
    short = job_id[4:16]
    assert run("edit", short, "--priority", "7", "--json").json["priority"] == 7
    assert run("pause", "latest", "--json").json["state"] == "paused"
    assert run("resume", short, "--json").json["state"] == "queued"
    agent.claim(job_id).run(FILES, ["a line"])
    assert run("watch", short, "--json").lines[-1]["id"] == job_id
    assert run("logs", "latest").out == run("logs", job_id).out != ""
    assert run("logs", short, "--follow").out == run("logs", job_id).out
    assert (
        run("download", "latest", "-l", "--json").json
        == run("download", job_id, "-l", "--json").json
    )
    assert run("profile", short, "--json").json == {"schema": "a"}
    assert run("download", "latest").code == 0
    assert (tmp_path / job_id / "report.html").read_bytes() == FILES["report.html"]
    assert run("cancel", short, "--json").json["id"] == job_id
    assert run("delete", short, "--yes", "--json").json["deleted"] == job_id
    assert run("status", short).code == 3


@pytest.mark.parametrize(
    "reference",
    ["", "abc", "job_", "job_abc", "0" * 25, "latest~", "latest~-1", "latest~999999", "LATEST"],
)
def test_what_means_no_job_is_not_found(run: Run, twins: list[str], reference: str) -> None:
    ran = run("cancel", reference, "--json")
    assert (ran.code, ran.json["error"]["code"]) == (3, "not_found")


def test_of_jobs_with_one_name_the_newest_is_read_and_none_is_changed(
    run: Run, client: Connection
) -> None:
    name = f"base {secrets.token_hex(4)}"
    old, new = (client.submit({**SPEC, "name": name}).id for _ in range(2))
    for command in ("status", "spec", "metrics"):
        ran = run(command, name)
        assert ran.code == 0, ran.err
        assert new in ran.err, "it says which one it took"
    assert run("status", name, "--json").json["id"] == new
    cloned = run("clone", name)
    assert cloned.code == 0
    assert new in cloned.err
    for command in ("cancel", "pause", "resume", "stop", "retry", "delete"):
        ran = run(command, name)
        assert ran.code == 3
        assert {old, new} <= set(ran.err.split())
    assert run("edit", name, "--priority", "3").code == 3
    assert run("edit", name, "--tag", "x").code == 3
    with pytest.raises(SeveralJobs) as several:
        client.job(name)
    assert [job.id for job in several.value.found] == [cloned.out.strip(), new, old]
    assert {client.job(job_id).state for job_id in (old, new)} == {JobState.QUEUED}


def test_children_have_names_of_their_own(run: Run, client: Connection, agent: Agent) -> None:
    name = f"base-{secrets.token_hex(4)}"
    parent = client.submit({**SPEC, "name": name}).id
    agent.claim(parent).run({"checkpoint": b"state", **FILES}, [])
    key = secrets.token_hex(8)
    first = client.job(parent).continue_training(2, key)
    assert client.job(parent).continue_training(2, key).id == first.id
    second = run("continue", name, "--epochs", "3", "--json").json
    assert (first.name, second["name"]) == (f"{name}+2", f"{name}+3")
    assert run("status", name, "--json").json["id"] == parent, "the name means what it meant"
    assert run("status", f"{name}+3", "--json").json["id"] == second["id"]
    for job_id in (first.id, second["id"]):
        client.job(job_id).cancel()
