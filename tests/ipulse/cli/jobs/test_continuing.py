"""continue, submit --from and stop: jobs that continue others."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from ipulse.client import Connection
from tests.ipulse.cli.conftest import FILES, Run
from tests.ipulse.live_service import Agent

CONTENTS = {
    "checkpoint.npz": b"the state after two epochs",
    "weights.npz": b"weights",
    "manifest.json": FILES["manifest.json"],
}


@pytest.fixture
def trained(client: Connection, agent: Agent, spec_file: Path) -> str:
    job = client.submit(spec_file)
    agent.claim(job.id).run(CONTENTS, [])
    return job.id


def test_continue_adds_epochs(run: Run, client: Connection, trained: str) -> None:
    ran = run("continue", trained[4:12], "--epochs", "3", "--json")
    assert ran.code == 0
    start = ran.json["start_from"]
    assert (start["job"], start["mode"]) == (trained, "continue")
    assert ran.json["spec"]["training"]["epochs"] == (start["epoch"] or 0) + 3
    assert trained in run("status", ran.json["id"]).out
    client.job(ran.json["id"]).cancel()


def test_continue_with_other_settings(run: Run, client: Connection, trained: str) -> None:
    schedule = ("--set", "checkpoint_epochs=2", "--set", "name=longer")
    ran = run("continue", trained, "--epochs", "3", *schedule, "--json")
    assert ran.code == 0, ran.err
    training = ran.json["spec"]["training"]
    assert (training["epochs"], training["checkpoint_epochs"]) == (3, 2)
    assert (ran.json["name"], ran.json["start_from"]["job"]) == ("longer", trained)
    client.job(ran.json["id"]).cancel()
    refused = run("continue", trained, "--epochs", "3", "--set", "learning_rate=0.5")
    assert refused.code == 2
    assert "--start-mode weights" in refused.err
    assert "learning_rate" in refused.err


def test_submit_from_another_job(
    run: Run, client: Connection, trained: str, spec_file: Path
) -> None:
    longer = ("--set", "epochs=100000")
    ran = run("submit", str(spec_file), *longer, "--from", trained, "--json")
    assert ran.json["start_from"]["mode"] == "continue"
    client.job(ran.json["id"]).cancel()
    ran = run("submit", str(spec_file), "--from", trained, "--start-mode", "weights", "--json")
    assert ran.json["start_from"]["mode"] == "weights"
    client.job(ran.json["id"]).cancel()


def test_submit_uploads_weights(
    run: Run, client: Connection, agent: Agent, spec_file: Path, tmp_path: Path
) -> None:
    weights = tmp_path / "mine.npz"
    weights.write_bytes(b"weights of another program")
    digest = hashlib.sha256(weights.read_bytes()).hexdigest()
    ran = run("submit", str(spec_file), "--weights", str(weights), "--json")
    assert ran.json["spec"]["network"]["initial"]["upload"] == digest
    agent.claim(ran.json["id"])
    client.job(ran.json["id"]).cancel()
    # The same content need not be sent again, and a file that is missing is named.
    again = run("submit", str(spec_file), "--weights", str(weights), "--json")
    assert again.json["spec"]["network"]["initial"]["upload"] == digest
    client.job(again.json["id"]).cancel()
    missing = run("submit", str(spec_file), "--weights", str(tmp_path / "none.npz"))
    assert missing.code != 0
    assert "none.npz" in missing.err


def test_what_cannot_be_continued_is_refused(run: Run, client: Connection, spec_file: Path) -> None:
    queued = run("submit", str(spec_file)).out.strip()
    ran = run("continue", queued, "--epochs", "1", "--json")
    assert ran.code != 0
    assert ran.json["error"]["code"] == "conflict"
    client.job(queued).cancel()


def test_submit_after_another_job(run: Run, client: Connection, spec_file: Path) -> None:
    first = run("submit", str(spec_file)).out.strip()
    ran = run("submit", str(spec_file), "--after", f"{first[4:14]}:end", "--json")
    assert ran.json["state"] == "blocked"
    status = run("status", ran.json["id"]).out
    assert f"the end of {first[4:12]}" in status
    assert f"{first[4:12]} {client.job(first).name}" in status
    [row] = [line for line in run("list").out.splitlines() if line.startswith(ran.json["id"])]
    assert f"blocked by {first[4:12]} {client.job(first).name}" in row
    client.job(ran.json["id"]).cancel()
    client.job(first).cancel()


def test_stop_finishes_a_job_that_runs(
    run: Run, client: Connection, agent: Agent, spec_file: Path
) -> None:
    queued = run("submit", str(spec_file)).out.strip()
    assert run("stop", queued, "--json").json["error"]["code"] == "illegal_transition"
    attempt = agent.claim(queued)
    assert run("stop", queued, "--json").json["finish_by"] is not None
    assert attempt.heartbeat()["finish"] is True
    client.job(queued).cancel()


def test_stop_finishes_all_running_jobs_that_a_query_finds(
    run: Run, client: Connection, agent: Agent, spec_file: Path
) -> None:
    jobs = [run("submit", str(spec_file), "--group", "all-stop").out.strip() for _ in range(2)]
    attempt = agent.claim(jobs[0])
    assert "2 jobs" in run("stop", "-q", "group:all-stop", "--dry-run").out
    done = run("stop", "-q", "group:all-stop", "--json").json
    assert (done["changed"], done["unchanged"]) == (1, 1)
    assert attempt.heartbeat()["finish"] is True
    for job_id in jobs:
        client.job(job_id).cancel()
