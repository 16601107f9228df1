"""Compare lists, searches and curves with MLflow's, by HTTP and in headless Chromium.

    python -m benchmarks.service mlflow

Both systems get the same 10,000 jobs, one after the other on this machine: IPUlse in SQLite, and
MLflow's tracking server in SQLite, in an environment of its own. Of 20 jobs both have curves of
10,000 steps. `first` is the first time, the median is of the later rounds; the requests follow the
pages, so that only the first time of a page is one when the server has read nothing of it yet. A
browser begins each time without a cache; its times are those from the start of the navigation or of
the action until the view is drawn.

MLflow's page draws 320 evenly chosen points of each run. Its page of a metric, which compares runs,
also gets every point for its table. IPUlse draws the smallest and the largest of each bucket.
"""

from __future__ import annotations

import json
import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx

from benchmarks.common.tables import Row
from benchmarks.service import many_jobs
from benchmarks.service.browser import HeadlessBrowser
from benchmarks.service.many_jobs import MadeJob
from benchmarks.service.page import CURVES, ROWS, SEARCH
from benchmarks.service.systems.ipulse import IpulseSystem
from benchmarks.service.systems.mlflow import MlflowSystem
from ipulse.spec import parse_spec
from ipulse_service.db.engine import Database
from ipulse_service.jobs import submission
from ipulse_service.jobs.search import settings_index

BEGAN_MS = 1_780_000_000_000
SEARCH_RUNS = "/api/2.0/mlflow/runs/search"
SAMPLES = "/ajax-api/2.0/mlflow/metrics/get-history-bulk-interval"
HISTORY = "/api/2.0/mlflow/metrics/get-history"
DRAWN_SAMPLES = 320  # that MLflow's page asks for of each run
HISTORY_PAGE = 25_000  # the most points of one answer
CURVE = "batch_loss"  # the name of the losses of steps in MLflow

LIST = "page: the list"
SEARCHED = "page: a search in it"
DRAWN = "page: curves of 20 jobs"
SENT = "curves of 20 jobs, as the page asks for them"
WHOLE = "curves of 20 jobs, every point"
COLUMNS = "learning_rate,seed,layers.0.neurons,test_accuracy,test_loss"
NEWEST = "attributes.start_time DESC"
# For each list of 100 jobs: IPUlse's query, then MLflow's filter and order.
LISTS: dict[str, tuple[dict[str, str], str, str]] = {
    "list: the newest": ({}, "", NEWEST),
    "list: by name": ({"q": "name:digits-12*"}, "attributes.run_name LIKE 'digits-12%'", NEWEST),
    "list: by a metric": ({"q": "test_accuracy>0.9"}, "metrics.test_accuracy > 0.9", NEWEST),
    "list: by a setting and a metric": (
        {"q": "seed=3 test_accuracy>0.9"},
        "params.seed = '3' AND metrics.test_accuracy > 0.9",
        NEWEST,
    ),
    "list: sorted by a metric": ({"sort": "-test_accuracy"}, "", "metrics.test_accuracy DESC"),
}

FIRST_RUN = "document.querySelector('.ag-row[row-index=\"0\"] a')?.innerText"
TRACES = (
    "[...document.querySelectorAll('.js-plotly-plot')].flatMap(({ data }) => data ?? []).length"
)
SEARCH_FOR_RUNS = """
    const field = document.querySelector("[data-testid=search-box]");
    const { set } = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value");
    set.call(field, arguments[0]); // React has replaced the field's own setter
    field.dispatchEvent(new Event("input", { bubbles: true }));
    field.dispatchEvent(
      new KeyboardEvent("keydown", { key: "Enter", code: "Enter", keyCode: 13, bubbles: true }),
    );
"""

Times = dict[str, list[float]]


def run_of(number: int, job: MadeJob) -> dict[str, Any]:
    """Return a job as a run of MLflow: settings as parameters, points of epochs and of steps."""
    settings = settings_index.flat_settings(submission.resolve(parse_spec(job.spec)).value)
    began = BEGAN_MS + 1000 * number
    epochs = [
        (name, value, epoch, began + epoch)
        for epoch, values in job.epochs
        for name, value in values.items()
    ]
    steps = [
        (f"batch_{name}", value, step, began + step)
        for step in range(1, job.points + 1)
        for name, value in many_jobs.values_of_step(step).items()
    ]
    return {
        "name": job.name,
        "started_at": began,
        "ended_at": began + 500,
        "tags": {"group": job.group, **dict.fromkeys(job.tags, "true")},
        "params": {name: str(value) for name, value in settings.items()},
        "metrics": [*epochs, *steps],
    }


def measure(home: Path, count: int, points: int, rounds: int, seed: int) -> list[Row]:
    """Return a row for each request and each view, with the times of both."""
    ours = _of_ipulse(home / "ipulse", count, points, rounds, seed)
    theirs = _of_mlflow(home / "mlflow", count, points, rounds, seed)
    return [
        {"what": what, **_figures("IPUlse", ours[what]), **_figures("MLflow", theirs[what])}
        for what in ours
    ]


def _figures(system: str, times: list[float]) -> Row:
    first, *rest = times
    return {f"{system} first_ms": first, f"{system} p50_ms": statistics.median(rest)}


def _repeated(rounds: int, act: Callable[[], float]) -> list[float]:
    return [act() for _ in range(rounds + 1)]


def _of_ipulse(home: Path, count: int, points: int, rounds: int, seed: int) -> Times:
    times: Times = {}
    with IpulseSystem(home) as system:
        database = Database(f"sqlite:///{home / 'ipulse.db'}")
        long = ",".join(many_jobs.fill(database, count, points, random.Random(seed)))
        curves = {"jobs": long, "scope": "step", "names": "loss"}
        with HeadlessBrowser(system.url, system.headers()) as browser:
            opened = partial(browser.opened, "/jobs", f"{ROWS} === 50")
            times[LIST] = _repeated(rounds, opened)
            address = f"/compare?jobs={long}&x=step&metrics=loss"
            drawn = partial(browser.opened, address, f"{CURVES}.length === 1")
            times[DRAWN] = _repeated(rounds, drawn)
            opened()
            found = "document.querySelector('.jobs tbody a.name')?.innerText === 'digits-{}'"
            times[SEARCHED] = [
                browser.acted(SEARCH, found.format(number), f"name:digits-{number}")
                for number in range(1, rounds + 2)
            ]
        with httpx.Client(base_url=system.url, headers=system.headers(), timeout=120) as http:
            for what, (query, _, _) in LISTS.items():
                params = {"page_size": "100", "columns": COLUMNS, **query}
                times[what] = _repeated(rounds, partial(_got, http, "/v1/jobs", params))
            for what, more in ((SENT, {}), (WHOLE, {"points": str(points)})):
                ask = partial(_got, http, "/v1/metrics", {**curves, **more})
                times[what] = _repeated(rounds, ask)
    return times


def _of_mlflow(home: Path, count: int, points: int, rounds: int, seed: int) -> Times:
    jobs = many_jobs.made(count, points, random.Random(seed))
    runs = (run_of(number, job) for number, job in enumerate(jobs))
    with (
        MlflowSystem(home, runs) as system,
        httpx.Client(base_url=system.url, timeout=120) as http,
    ):
        body: dict[str, Any] = {"experiment_ids": [system.experiment_id], "order_by": [NEWEST]}
        answer = http.post(SEARCH_RUNS, json={**body, "max_results": 20}).raise_for_status()
        long = [run["info"]["run_id"] for run in answer.json()["runs"]]
        times = _of_its_page(system, long, rounds)
        for what, (_, query, order) in LISTS.items():
            asked = {**body, "filter": query, "order_by": [order], "max_results": 100}
            times[what] = _repeated(rounds, partial(_posted, http, SEARCH_RUNS, asked))
        samples = {"run_ids": long, "metric_key": CURVE, "max_results": DRAWN_SAMPLES}
        times[SENT] = _repeated(rounds, partial(_got, http, SAMPLES, samples))
        times[WHOLE] = _repeated(rounds, partial(_histories, http, long))
    return times


def _of_its_page(system: MlflowSystem, long: Sequence[str], rounds: int) -> Times:
    words = {
        "runs": long,
        "metric": CURVE,
        "experiments": [system.experiment_id],
        "plot_metric_keys": [CURVE],
    }
    query = urlencode({name: json.dumps(word) for name, word in words.items()})
    with HeadlessBrowser(system.url) as browser:
        runs = f"/#/experiments/{system.experiment_id}/runs"
        opened = partial(browser.opened, runs, f"{FIRST_RUN}?.startsWith('digits-')")
        times = {LIST: _repeated(rounds, opened)}
        drawn = partial(browser.opened, f"/#/metric?{query}", f"{TRACES} >= {len(long)}")
        times[DRAWN] = _repeated(rounds, drawn)
        opened()
        times[SEARCHED] = [
            browser.acted(
                SEARCH_FOR_RUNS,
                f"{FIRST_RUN} === 'digits-{number}'",
                f"attributes.run_name = 'digits-{number}'",
            )
            for number in range(1, rounds + 2)
        ]
    return times


def _got(http: httpx.Client, path: str, params: Mapping[str, Any]) -> float:
    began = time.perf_counter()
    http.get(path, params=params).raise_for_status()
    return (time.perf_counter() - began) * 1000


def _posted(http: httpx.Client, path: str, body: Mapping[str, Any]) -> float:
    began = time.perf_counter()
    http.post(path, json=body).raise_for_status()
    return (time.perf_counter() - began) * 1000


def _histories(http: httpx.Client, runs: Sequence[str]) -> float:
    """Get every point of runs, one after the other: MLflow has no request for several."""
    wanted = {"metric_key": CURVE, "max_results": HISTORY_PAGE}
    return sum(_got(http, HISTORY, {"run_id": run, **wanted}) for run in runs)


def main(arguments: list[str]) -> None:
    """Run the command line."""
    many_jobs.run("mlflow", __doc__, measure, rounds=5, arguments=arguments)
