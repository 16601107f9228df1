"""Measure the job table, searches and curves of a service with many jobs.

    python -m benchmarks.service search --jobs 10000

The service is a process of its own, the database is SQLite; every job is stored as a submission
stores it. Milliseconds are those of whole HTTP requests, one after the other.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

from benchmarks.common.tables import Row
from benchmarks.service import many_jobs
from benchmarks.service.clients import percentiles
from benchmarks.service.systems.ipulse import IpulseSystem
from ipulse_service.db.engine import Database

SEARCHES: dict[str, dict[str, str | int]] = {
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


def measure(home: Path, count: int, points: int, rounds: int, seed: int) -> list[Row]:
    """Return a row for each request."""
    with IpulseSystem(home) as system:
        database = Database(f"sqlite:///{home / 'ipulse.db'}")
        long = many_jobs.fill(database, count, points, random.Random(seed))
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
    many_jobs.run("search", __doc__, measure, rounds=7, arguments=arguments)
