"""Measure the job table, searches and curves of a service with many jobs.

    python -m benchmarks.service search --jobs 10000

The service is a process of its own, the database is SQLite; every job is stored as a submission
stores it. Milliseconds are those of whole HTTP requests, one after the other.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
from sqlalchemy import update

from benchmarks.common import command_line
from benchmarks.common.tables import Row, finish
from benchmarks.service.clients import percentiles
from benchmarks.service.systems.ipulse import IpulseSystem
from ipulse.spec import parse_spec
from ipulse_core import strict_json
from ipulse_service.db.engine import Database, Transaction
from ipulse_service.db.tables import jobs
from ipulse_service.jobs import events, submission
from ipulse_service.jobs.job_attributes import JobAttributes
from ipulse_service.jobs.search import metrics_index

AT_ONCE = 250  # jobs of one transaction
EPOCHS = 10
LAYERS = 3

SEARCHES = {
    "first page": {},
    "first page, count, 6 columns": {
        "columns": "learning_rate,seed,layers.0.neurons,test_accuracy,test_loss.best,group",
    },
    "state and tag": {"q": "state:succeeded tag:wide"},
    "name": {"q": "name:digits-12*"},
    "word": {"q": "digits-123"},
    "setting and metric": {"q": "learning_rate<0.01 test_accuracy>0.9 -tag:old"},
    "seven terms": {
        "q": "state:succeeded device:cpu -tag:old test_accuracy>0.5 layers.0.neurons=128 age<7d "
        "(name:digits* OR group:none)"
    },
    "sort by metric": {"sort": "-test_accuracy,name"},
    "search, sort, 4 columns": {
        "q": "learning_rate<0.05 test_accuracy.best>0.5",
        "sort": "-test_accuracy,learning_rate",
        "columns": "learning_rate,seed,test_accuracy,test_accuracy.best",
    },
    "page 50 of a sort": {"sort": "learning_rate", "skip": 4900},
}


def fill(database: Database, count: int, points: int, random_numbers: random.Random) -> list[str]:
    """Store jobs, and give the last 20 so many points of curves; return the ids of those."""
    stored: list[str] = []
    for begin in range(0, count, AT_ONCE):
        with database.write() as transaction:
            for number in range(begin, min(begin + AT_ONCE, count)):
                long = points if number >= count - 20 else 0
                stored.append(store(transaction, number, long, random_numbers))
    return stored[-20:]


def store(transaction: Transaction, number: int, points: int, random_numbers: random.Random) -> str:
    """Store a job that has succeeded, with so many points of curves; return its id."""
    layers = [{"neurons": random_numbers.choice([64, 128, 256])} for _ in range(LAYERS)]
    rate = random_numbers.choice([0.001, 0.003, 0.01, 0.03, 0.1])
    spec = {
        "version": 1,
        "name": f"digits-{number}",
        "seed": number % 5,
        "network": {"layers": layers},
        "training": {"optimizer": {"kind": "adam", "learning_rate": rate}},
    }
    tags = random_numbers.sample(["wide", "old", "baseline", "quick"], 2)
    attributes = JobAttributes(tuple(tags), f"group-{number // 15}")
    resolved = submission.resolve(parse_spec(spec))
    job = submission.store_job(transaction, resolved, attributes=attributes)
    epochs = []
    for epoch in range(1, EPOCHS + 1):
        loss = random_numbers.random()
        values = {"loss": loss, "accuracy": 1 - loss, "test_loss": loss, "test_accuracy": 1 - loss}
        values |= {f"firing_rate/{layer}": loss for layer in range(1, LAYERS + 1)}
        epochs.append((epoch, values))
    metrics_index.add_epochs(transaction, job.pk, epochs)
    last_seq = job.last_seq
    if points:
        last_seq = events.append(transaction, job.pk, last_seq, 1, list(_points(points)))
    changed = {"state": "succeeded", "last_seq": last_seq, "started_at": transaction.now}
    changed["finished_at"] = transaction.now
    transaction.connection.execute(update(jobs).where(jobs.c.pk == job.pk).values(changed))
    return job.id


def _points(count: int) -> Iterator[events.NewEvent]:
    for step in range(1, count + 1):
        body: dict[str, Any] = {
            "epoch": 1 + step * 10 // (count + 1),
            "epochs": 10,
            "step": step,
            "steps": count,
            "values": {"loss": 1 / step, "accuracy": 1 - 1 / step, "samples_per_second": 1000.0},
            "scope": "step",
            "held_out": "test",
            "eta_seconds": 1.0,
        }
        yield events.NewEvent("metric", strict_json.dumps(body))


def measure(home: Path, count: int, points: int, rounds: int, seed: int) -> list[Row]:
    """Return a row for each request."""
    with IpulseSystem(home) as system:
        database = Database(f"sqlite:///{home / 'ipulse.db'}")
        long = fill(database, count, points, random.Random(seed))
        with httpx.Client(base_url=system.url, headers=system.headers(), timeout=60) as http:
            return (
                [
                    {
                        "request": name,
                        "jobs": count,
                        **percentiles(_times(http, url, query, rounds)),
                    }
                    for name, url, query in _requests(long)
                ]
                + [
                    {"request": name, "jobs": count, **percentiles(_posts(http, body, rounds))}
                    for name, body in (
                        ("compare 20 jobs", {"jobs": long}),
                        ("compare 1,000 jobs by group", {"q": "", "group_by": ["learning_rate"]}),
                    )
                ]
                + [{"request": "create a sweep of 1,000 trials", "jobs": count, **_sweeps(http)}]
            )


def _sweeps(http: httpx.Client) -> dict[str, float]:
    ten = [1 + number for number in range(10)]
    parameters = {
        "/seed": {"values": ten},
        "/training/epochs": {"values": ten},
        "/network/layers/0/neurons": {"values": [64 * number for number in ten]},
    }
    spec = {"version": 1, "network": {"layers": [{"neurons": 64}]}}
    times = []
    for _ in range(3):
        body = {"sweep": "thousand", "spec": spec, "parameters": parameters}
        began = time.perf_counter()
        http.post("/v1/sweeps", json=body).raise_for_status()
        times.append((time.perf_counter() - began) * 1000)
    return percentiles(times)


def _requests(long: list[str]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for name, query in SEARCHES.items():
        yield name, "/v1/jobs", {"page_size": 100, "count": "true", **query}
    yield "columns", "/v1/jobs:columns", {}
    ids = ",".join(long)
    query = {"jobs": ids, "scope": "step", "names": "loss"}
    yield "a curve of 20 jobs", "/v1/metrics", query
    yield "one curve", "/v1/metrics", {"jobs": long[0], "scope": "step", "names": "loss"}
    query = {**query, "from": "2", "to": "3"}
    yield "zoom in 20 jobs", "/v1/metrics", query
    yield "suggest a value", "/v1/jobs:suggest", {"q": "learning_rate="}


def _times(http: httpx.Client, url: str, query: dict[str, Any], rounds: int) -> list[float]:
    times = []
    for number in range(rounds + 1):
        began = time.perf_counter()
        http.get(url, params=query).raise_for_status()
        if number:  # the first one fills caches
            times.append((time.perf_counter() - began) * 1000)
    return times


def _posts(http: httpx.Client, body: dict[str, Any], rounds: int) -> list[float]:
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        http.post("/v1/jobs:compare", json=body).raise_for_status()
        times.append((time.perf_counter() - began) * 1000)
    return times


def main(arguments: list[str]) -> None:
    """Run the command line."""
    parser = command_line.parser("service search", __doc__)
    parser.add_argument("--jobs", type=int, default=10_000, help="(%(default)s)")
    parser.add_argument("--points", type=int, default=10_000, help="of 20 jobs (%(default)s)")
    parser.add_argument("--rounds", type=int, default=7, help="of each request (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the jobs (%(default)s)")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory) / "home"
        rows = measure(home, options.jobs, options.points, options.rounds, options.seed)
    finish(rows, options.output)
