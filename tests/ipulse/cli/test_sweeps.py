"""sweep run, list, show, status, best, pause, resume, stop and extend."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from ipulse.client import Connection
from tests.ipulse.cli.conftest import FILES, Run
from tests.ipulse.live_service import Agent

RATE = "/training/optimizer/learning_rate"


@pytest.fixture
def working(client: Connection, agent: Agent) -> Any:
    """Does all jobs of a sweep; the accuracy is the learning rate."""

    def work(sweep_id: str) -> None:
        while not client.sweep(sweep_id).status.has_ended:
            for trial in client.sweep(sweep_id).trials():
                for job in trial.json["jobs"]:
                    if job["state"] == "queued":
                        rate = trial.parameters[RATE]
                        attempt = agent.claim(job["id"])
                        for phase in ("prepare", "compile", "acquire", "run", "report"):
                            attempt.report({"kind": "phase", "phase": phase})
                        attempt.store("manifest.json", "manifest", FILES["manifest.json"])
                        attempt.finish(test_accuracy=rate)

    return work


def test_a_sweep_from_its_begin_to_its_best(run: Run, working: Any, spec_file: Path) -> None:
    vary = "learning_rate=0.25,0.5"
    ran = run("sweep", "run", str(spec_file), "--vary", vary, "--seeds", "2", "--name", "rates")
    sweep_id = ran.out.strip()
    assert ran.code == 0
    assert "2 trials, 4 jobs" in ran.err
    working(sweep_id)
    assert run("sweep", "status", sweep_id, "--json").json["state"] == "ended"
    shown = run("sweep", "show", "rates")
    lines = [line.split() for line in shown.out.splitlines()]
    assert [line[:4] for line in lines[-2:]] == [
        ["2", "0.5", "succeeded", "50.0"],
        ["1", "0.25", "succeeded", "25.0"],
    ]
    document = run("sweep", "show", sweep_id[4:12], "--json").json
    assert [trial["number"] for trial in document["trial_list"]] == [2, 1]
    best = run("sweep", "best", "latest", "--json").json
    assert (best["parameters"], best["value"], best["n"]) == ({RATE: 0.5}, 0.5, 2)
    listed = run("sweep", "list", "--json").json["sweeps"]
    assert listed[0]["id"] == sweep_id


def test_seeds_alone_are_one_trial(client: Connection, run: Run, spec_file: Path) -> None:
    ran = run("sweep", "run", str(spec_file), "--seeds", "3", "--name", "seeds")
    assert ran.code == 0, ran.err
    assert "1 trial, 3 jobs" in ran.err
    document = run("sweep", "show", "seeds", "--json").json
    assert (document["trials"], document["parameters"]) == (1, [])
    client.sweep(ran.out.strip()).stop(running="cancel")
    assert run("sweep", "run", str(spec_file), "--seeds", "1").code == 2


def test_waiting_reports_every_trial(
    run: Run, client: Connection, working: Any, spec_file: Path
) -> None:
    before = {sweep.id for sweep in client.sweeps()}

    def work_on_the_new_one() -> None:
        while not (new := [s.id for s in client.sweeps() if s.id not in before]):
            pass
        working(new[0])

    worker = threading.Thread(target=work_on_the_new_one)
    worker.start()
    ran = run("sweep", "run", str(spec_file), "--vary", "learning_rate=0.25,0.5", "--wait")
    worker.join()
    assert ran.code == 0
    assert "trial 1: learning_rate = 0.25: test_accuracy 25.0 %" in ran.err
    assert "trial 2: learning_rate = 0.5: test_accuracy 50.0 %" in ran.err


def test_deleted_jobs_are_marked_and_repeated(
    run: Run, client: Connection, working: Any, spec_file: Path
) -> None:
    vary = ("--vary", "learning_rate=0.25,0.5")
    sweep_id = run("sweep", "run", str(spec_file), *vary, "--name", "in parts").out.strip()
    working(sweep_id)
    assert run("sweep", "retry", sweep_id).code == 7, "nothing failed"
    gone = client.sweep(sweep_id).trials()[0].job_ids[0]
    client.job(gone).delete()
    shown = run("sweep", "show", sweep_id, "--wide")
    assert f"{gone[4:12]} (deleted)" in shown.out
    assert "--deleted" in shown.err
    assert run("sweep", "retry", sweep_id, "--trial", "3").code == 2
    assert run("sweep", "retry", sweep_id, "--deleted", "--json").json["state"] == "running"
    working(sweep_id)
    [first, second] = client.sweep(sweep_id).trials()
    assert (first.number, first.state, first.value) == (1, "succeeded", 0.25)
    assert gone not in first.job_ids
    assert not first.has_deleted_jobs
    assert second.value == 0.5


def test_pause_resume_extend_and_stop(run: Run, spec_file: Path) -> None:
    vary = ("--vary", "learning_rate=log_uniform:1e-3,0.1", "--method", "random")
    ran = run("sweep", "run", str(spec_file), *vary, "--trials", "8", "--parallel", "1", "--json")
    sweep_id = ran.json["id"]
    assert (ran.json["method"], ran.json["trials"]) == ("random", 8)
    assert run("sweep", "pause", sweep_id, "--json").json["state"] == "paused"
    assert run("sweep", "resume", sweep_id, "--json").json["state"] == "running"
    extended = run("sweep", "extend", sweep_id, "--trials", "9", "--parallel", "2", "--json").json
    assert (extended["trials"], extended["parallel"]) == (9, 2)
    stopped = run("sweep", "stop", sweep_id, "--running", "cancel", "--json").json
    assert stopped["state"] in ("stopping", "ended")


def test_a_file_that_is_a_sweep(run: Run, spec_file: Path, tmp_path: Path) -> None:
    file = tmp_path / "sweep.yaml"
    file.write_text(
        f"sweep: from a file\nfile: {spec_file.name}\n"
        f"parameters:\n  {RATE}: {{values: [0.1, 0.2, 0.3]}}\nparallel: 1\n"
    )
    ran = run("sweep", "run", str(file), "--trials", "2", "--json")
    assert (ran.json["name"], ran.json["trials"], ran.json["parallel"]) == ("from a file", 2, 1)
    run("sweep", "stop", ran.json["id"], "--running", "cancel")
    file.write_text(file.read_text().replace("0.2", "0.1"))
    ran = run("sweep", "run", str(file), "--json")
    assert ran.code == 2
    (problem,) = ran.json["error"]["problems"]
    assert problem["pointer"] == "/parameters/~1training~1optimizer~1learning_rate/values/1"
    assert problem["line"] == 4


@pytest.mark.parametrize(
    "vary",
    ["neurons=", "=1", "learning_rate", "no_such_field=1,2", "neurons=0,1", "neurons=[1,2"],
)
def test_a_wrong_setting_is_refused(run: Run, spec_file: Path, vary: str) -> None:
    ran = run("sweep", "run", str(spec_file), "--vary", vary, "--json")
    assert ran.code == 2
    assert json.loads(ran.out)["error"]["message"]


def test_a_sweep_that_is_not_there(run: Run) -> None:
    for name in ("no-such-name", "swp_000000000000000000000000", "00"):
        assert run("sweep", "show", name).code == 3
