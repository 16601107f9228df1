"""metrics: curves of jobs as a table, CSV and JSON."""

from __future__ import annotations

import csv
import io

from ipulse.client import Connection
from tests.ipulse.cli.conftest import SPEC, Run
from tests.ipulse.live_service import Agent


def test_metrics_of_two_jobs(client: Connection, agent: Agent, run: Run) -> None:
    jobs = [client.submit(SPEC).id for _ in range(2)]
    for number, job_id in enumerate(jobs):
        attempt = agent.claim(job_id)
        where = {"epochs": 2, "steps": 20, "scope": "epoch"}
        attempt.report({"kind": "phase", "phase": "prepare"}, {"kind": "phase", "phase": "run"})
        for epoch in (1, 2):
            values = {"loss": 1 / epoch, "test_accuracy": 0.5 + 0.1 * (epoch + number)}
            values |= {"extra": 3.0, "test_loss": 2.0}
            attempt.report(
                {"kind": "metric", "epoch": epoch, "step": 10 * epoch, "values": values, **where}
            )
    shown = run("metrics", jobs[0]).out.splitlines()
    assert [line.split() for line in shown] == [
        ["epoch", "test_accuracy", "test_loss", "loss", "extra"],  # what may be cut comes last
        ["1", "60.0", "%", "2.0000", "1.0000", "3"],
        ["2", "70.0", "%", "2.0000", "0.5000", "3"],
    ]
    rows = list(csv.reader(io.StringIO(run("metrics", *jobs, "--csv").out)))
    assert rows[0] == ["job", "name", "epoch", "extra", "loss", "test_accuracy", "test_loss"]
    assert [row[0] for row in rows[1:]] == [jobs[0]] * 2 + [jobs[1]] * 2
    assert float(rows[4][5]) == 0.5 + 0.1 * 3
    [curve] = run("metrics", jobs[1], "--names", "loss", "--x", "samples", "--json").json["curves"]
    assert (curve["name"], curve["last"], curve["n"]) == ("loss", [1.0, 0.5], [1, 1])
    assert [c.name for c in client.curves(jobs, ["loss"], end=1.0)] == ["loss", "loss"]
    assert "no such metrics" in run("metrics", jobs[0], "--scope", "step").err
    assert run("metrics", jobs[0], "--scope", "batch").code == 2
    for job_id in jobs:
        client.job(job_id).cancel()
