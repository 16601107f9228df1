"""compare: two jobs side by side, groups over seeds, CSV and JSON."""

from __future__ import annotations

import csv
import io
import secrets
from collections.abc import Iterator
from typing import Any

import pytest

from ipulse.client import Connection
from tests.ipulse.cli.conftest import SPEC, Run
from tests.ipulse.live_service import Agent

ACCURACIES = {0.01: (0.941, 0.946, 0.952), 0.1: (0.8,)}


@pytest.fixture(scope="module")
def name() -> str:
    return f"g{secrets.token_hex(6)}"


@pytest.fixture
def group(client: Connection, agent: Agent, name: str) -> Iterator[list[str]]:
    """Jobs with two learning rates: three seeds of one, one of the other; they have a result."""
    jobs = []
    for rate, accuracies in ACCURACIES.items():
        for seed, accuracy in enumerate(accuracies):
            training = {"optimizer": {"kind": "adam", "learning_rate": rate}}
            spec: dict[str, Any] = {**SPEC, "seed": seed, "training": training}
            job_id = client.submit(spec, group=name).id
            attempt = agent.claim(job_id)
            attempt.report({"kind": "phase", "phase": "prepare"}, {"kind": "phase", "phase": "run"})
            where = {"epoch": 1, "epochs": 2, "step": 10, "steps": 20, "scope": "epoch"}
            values = {"test_accuracy": accuracy}
            attempt.report({"kind": "metric", **where, "values": values})
            jobs.append(job_id)
    yield jobs
    for job_id in jobs:
        client.job(job_id).cancel()


def test_jobs_are_compared(client: Connection, run: Run, name: str, group: list[str]) -> None:
    lines = [line.split() for line in run("compare", group[2], group[3]).out.splitlines()]
    first, second = group[2][4:12], group[3][4:12]
    assert lines[0] == [first, second, first, "−", second]
    assert ["learning_rate", "0.01", "0.1"] in lines
    assert ["test_accuracy", "95.2", "%", "80.0", "%", "+15.2", "points"] in lines

    table = run("compare", "-q", f"group:{name}", "--metrics", "test_accuracy").out
    assert [line.split() for line in table.splitlines()[1:]] == [
        ["0.1", "1", "80.0", "%", "1", "of", "1"],
        ["0.01", "3", "94.6", "%", "0.6", "%", "±1.4", "%", "3", "of", "3", "best"],
    ]
    each = run("compare", "-q", f"group:{name}", "--each", "--csv").out
    rows = list(csv.DictReader(io.StringIO(each)))
    assert [float(row["test_accuracy"]) for row in rows] == [0.8, 0.952, 0.946, 0.941]
    grouped = run("compare", "-q", f"group:{name}", "--group-by", "learning_rate", "--csv").out
    means = [row["test_accuracy mean"] for row in csv.DictReader(io.StringIO(grouped))]
    assert [round(float(mean), 4) for mean in means] == [0.8, 0.9463]
    result = run("compare", *group, "--json").json
    assert [job["id"] for job in result["jobs"]] == group

    assert "no jobs" in run("compare", "-q", f"group:{name} seed>10").err
    assert run("compare").code == 2
    assert run("compare", group[0], "-q", "a").code == 2
    wrong = run("compare", "-q", f"group:{name}", "--metrics", "nonsense")
    assert (wrong.code, "--metrics" in wrong.err) == (2, True)
