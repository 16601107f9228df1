"""MLflow's own client reads the runs that the benchmark writes into its database."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.service import many_jobs
from benchmarks.service.mlflow_comparison import LISTS, run_of
from benchmarks.service.systems.mlflow import NO_TELEMETRY, PACKAGE

ROOT = Path(__file__).resolve().parents[2]
SEED = 4
READ = """
import json, sys, warnings
warnings.simplefilter("ignore")
from mlflow.tracking import MlflowClient
uri, experiment, query = sys.argv[1:]
client = MlflowClient(tracking_uri=uri)
runs = client.search_runs([experiment], order_by=["attributes.start_time ASC"])
found = client.search_runs([experiment], query)
print(json.dumps({
    "runs": [[run.info.run_name, run.info.status, run.data.params, run.data.tags] for run in runs],
    "histories": [
        {name: [(m.step, m.value) for m in client.get_metric_history(run.info.run_id, name)]
         for name in run.data.metrics}
        for run in runs
    ],
    "latest": [run.data.metrics for run in runs],
    "found": [run.info.run_name for run in found],
}))
"""


@pytest.mark.verify
def test_its_client_reads_settings_metrics_and_curves(tmp_path: Path) -> None:
    random_numbers = random.Random(SEED)
    jobs = [many_jobs.make(number, number % 3 * 5, random_numbers) for number in range(20)]
    runs = [run_of(number, job) for number, job in enumerate(jobs)]
    uri = f"sqlite:///{tmp_path / 'mlflow.db'}"
    filled = _ran(["-m", f"{PACKAGE}.mlflow_rows", uri], "\n".join(map(json.dumps, runs)))
    query = LISTS["list: by a setting and a metric"][1]
    found = json.loads(_ran(["-c", READ, uri, filled.strip(), query]).splitlines()[-1])
    for run, (name, status, params, tags) in zip(runs, found["runs"], strict=True):
        assert (name, status, params) == (run["name"], "FINISHED", run["params"])
        assert tags.items() >= run["tags"].items()
    for run, histories, latest in zip(runs, found["histories"], found["latest"], strict=True):
        expected: dict[str, list[list[float]]] = {}
        for name, value, step, _ in run["metrics"]:
            expected.setdefault(name, []).append([step, value])
        assert histories == expected
        assert latest == {name: points[-1][1] for name, points in expected.items()}
    good = {job.name for job in jobs if job.epochs[-1][1]["test_accuracy"] > 0.9}
    fits = {job.name for job in jobs if job.spec["seed"] == 3} & good
    assert fits
    assert set(found["found"]) == fits


def _ran(arguments: list[str], text: str = "") -> str:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, **NO_TELEMETRY},
        input=text,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout
