"""Measure how fast the page shows many jobs, long curves and a long log, in headless Chromium.

    python -m benchmarks.service page

The service is a process of its own with 10,000 jobs in SQLite. `first` is the first time, when the
service has read nothing of it yet; the median and the maximum are of the later rounds. Times are
those of the browser's clock, from the start of the navigation or of the action until the view is
drawn.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
from sqlalchemy import update

from benchmarks.common.tables import Row
from benchmarks.service import many_jobs
from benchmarks.service.browser import HeadlessBrowser
from benchmarks.service.systems.ipulse import SPEC, IpulseSystem
from ipulse_service.db.engine import Database
from ipulse_service.db.tables import jobs
from ipulse_service.jobs import events
from tests.service.agents import METRIC, PHASES, Attempt, line, phase

LOG_LINES = 100_000
FOLLOWED_SECONDS, LINES_A_SECOND = 5, 1000
LONG_POINTS = 50_000  # of each of two jobs
WIDE, WIDE_POINTS = 200, 500  # jobs, and points of each

ROWS = "document.querySelectorAll('.jobs tbody tr').length"
CURVES = "[...document.querySelectorAll('ip-curve')].filter(({ plot }) => plot?.data[0].length > 9)"
# Every path is computed again, and the canvas painted.
DRAWN_AGAIN = """
    const { plot } = document.querySelector("ip-curve");
    window.drawn = 0;
    plot.hooks.draw = [() => { window.drawn += 1; }];
    plot.redraw(true, true);
"""
AGAIN = "window.drawn > 0"
CHOSEN = "document.querySelector('.summary')?.innerText.includes('chosen by the axes')"
BRUSH = """
    const { chart } = document.querySelector("ip-chart");
    const axis = chart.getModel().getComponent("parallelAxis", 0);
    chart.dispatchAction({ type: "axisAreaSelect", parallelAxisId: axis.id, intervals: [[-1, 2]] });
"""
SHOW_ALL = (
    "[...document.querySelectorAll('button')].find((b) => b.innerText === 'Show all').click()"
)
SEARCH = """
    const field = document.querySelector("ip-search input");
    field.value = arguments[0];
    field.dispatchEvent(new Event("input"));
    field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
"""
FIND = """
    const field = document.querySelector(".find input");
    field.value = arguments[0];
    field.dispatchEvent(new Event("input"));
"""
FOUND = "document.querySelector('.log-bar [role=status]').innerText"
LAST_LINE = "[...document.querySelectorAll('.log-line')].at(-1)?.innerText"


def measure(home: Path, count: int, points: int, rounds: int, seed: int) -> list[Row]:
    """Return a row for each view and action."""
    random_numbers = random.Random(seed)
    with IpulseSystem(home) as system:
        database = Database(f"sqlite:///{home / 'ipulse.db'}")
        several = many_jobs.fill(database, count, points, random_numbers)
        with database.write() as transaction:
            more = [many_jobs.make(count, LONG_POINTS, random_numbers) for _ in "ab"]
            numbers = range(count, count + WIDE)
            more += [many_jobs.make(number, WIDE_POINTS, random_numbers) for number in numbers]
            stored = [many_jobs.store(transaction, job) for job in more]
        with (
            httpx.Client(base_url=system.url, headers=system.headers(), timeout=120) as http,
            HeadlessBrowser(system.url, system.headers()) as browser,
        ):
            return [
                *_of_lists(browser, count, rounds),
                *_of_comparisons(browser, stored[:2], several, stored[2:], points, rounds),
                *_of_a_log(system, http, browser, database, rounds),
                *_of_metrics(system, http, browser, rounds),
            ]


def _row(what: str, times: list[float], **more: float) -> Row:
    first, *rest = times
    figures = {"p50_ms": statistics.median(rest), "max_ms": max(rest)} if rest else {}
    return {"what": what, "first_ms": first, **figures, **more}


def _repeated(rounds: int, act: Callable[[], float]) -> list[float]:
    return [act() for _ in range(rounds + 1)]


def _of_lists(browser: HeadlessBrowser, count: int, rounds: int) -> Iterator[Row]:
    times = _repeated(rounds, lambda: browser.opened("/jobs", f"{ROWS} === 50"))
    yield _row(f"the list of {count:,} jobs, from nothing", times)
    facts = browser.facts()
    yield {"what": "script of the list, gzip (kB)", "value": facts["script_bytes"] / 1000}
    yield {"what": "layout shift of the list", "value": facts["shift"]}
    names = [f"name:digits-{number}" for number in range(1, rounds + 2)]
    done = "document.querySelector('.jobs tbody a.name')?.innerText === '{}'"
    times = [browser.acted(SEARCH, done.format(name.removeprefix("name:")), name) for name in names]
    yield _row(f"a search among {count:,} jobs", times)


def _of_comparisons(
    browser: HeadlessBrowser,
    two: list[str],
    several: list[str],
    wide: list[str],
    points: int,
    rounds: int,
) -> Iterator[Row]:
    for ids, size in ((two, LONG_POINTS), (several, points), (wide, WIDE_POINTS)):
        address = f"/compare?jobs={','.join(ids)}&x=step&metrics=loss&lines=jobs"
        times = []
        for _ in range(rounds + 1):
            browser.opened("/jobs", f"{ROWS} === 50")
            times.append(browser.followed(address, f"{CURVES}.length === 1"))
        yield _row(f"curves of {len(ids)} jobs with {size:,} points each, from the list", times)
    times = _repeated(rounds, lambda: browser.acted(DRAWN_AGAIN, AGAIN))
    yield _row(f"the same {WIDE * WIDE_POINTS:,} points drawn again", times)
    chart = "document.querySelector('ip-chart')"
    browser.opened("/compare?q=", chart)
    browser.acted(f"{chart}.scrollIntoView()", f"{chart}.chart")  # it is drawn when it is seen
    times = []
    for _ in range(rounds + 1):
        times.append(browser.acted(BRUSH, CHOSEN))
        browser.acted(SHOW_ALL, f"!({CHOSEN})")
    yield _row("an axis that filters 1,000 jobs", times)


def _of_a_log(
    system: IpulseSystem,
    http: httpx.Client,
    browser: HeadlessBrowser,
    database: Database,
    rounds: int,
) -> Iterator[Row]:
    job_id = _submitted(http, "log")
    http.post(f"/v1/jobs/{job_id}/cancel").raise_for_status()
    texts = [f"line {n}" if n % 100 else f"needle {n}" for n in range(LOG_LINES)]
    with database.write() as transaction:
        job = transaction.connection.execute(jobs.select().where(jobs.c.id == job_id)).one()
        lines = events.log_events(texts, "info", "runner")
        last = events.append(transaction, job.pk, job.last_seq, None, lines)
        changed = update(jobs).where(jobs.c.pk == job.pk).values(last_seq=last)
        transaction.connection.execute(changed)
    size = f"{LOG_LINES:,} lines of a log"
    shown = "document.querySelector('.log-line')"
    times = _repeated(rounds, lambda: browser.opened(f"/jobs/{job_id}/log", shown))
    yield _row(f"{size}, first paint", times)
    foot = "document.querySelector('.log-foot').innerText.replaceAll(',', '')"
    browser.until(f"parseInt({foot}) >= {LOG_LINES}")
    times = [
        browser.acted(FIND, f"{FOUND}.endsWith('of {found}')", text)
        for text, found in (("needle", "1,000"), ("line 12345", "1"), ("needle 9", "111"))
    ]
    yield _row(f"{size}, search", times)
    yield {"what": "memory of the log's page (MB)", "value": browser.heap_bytes() / 1e6}
    job_id = _submitted(http, "followed")
    browser.opened(f"/jobs/{job_id}/log", shown)
    with system.attempt(http, job_id) as attempt:
        yield _row("from a line of 1,000 a second until it is seen", [_followed(browser, attempt)])


def _submitted(http: httpx.Client, name: str) -> str:
    answer = http.post("/v1/jobs", json={**SPEC, "name": name}).raise_for_status()
    return str(answer.json()["id"])


def _followed(browser: HeadlessBrowser, attempt: Attempt) -> float:
    """Report lines for some seconds; return the milliseconds until the last is seen."""
    attempt.report(*map(phase, PHASES[:4])).raise_for_status()
    number = 0
    for _ in range(FOLLOWED_SECONDS * 10):
        began = time.monotonic()
        texts = [f"followed {number + n}" for n in range(LINES_A_SECOND // 10)]
        number += len(texts)
        attempt.report(*map(line, texts)).raise_for_status()
        attempt.heartbeat()
        time.sleep(max(0.0, 0.1 - (time.monotonic() - began)))
    return browser.since(time.time(), f"{LAST_LINE}?.includes('followed {number - 1}')")


def _of_metrics(
    system: IpulseSystem, http: httpx.Client, browser: HeadlessBrowser, rounds: int
) -> Iterator[Row]:
    job_id = _submitted(http, "live")
    with system.attempt(http, job_id) as attempt:
        attempt.report(*map(phase, PHASES[:4]))
        browser.opened(f"/jobs/{job_id}/metrics", "document.querySelector('.tabs')")
        times = []
        for epoch in range(1, rounds + 3):
            point: dict[str, Any] = {**METRIC, "epoch": epoch, "epochs": 99, "step": epoch}
            ended = {"scope": "epoch", "values": {"loss": 1 / epoch, "test_accuracy": 0.5}}
            began = time.time()
            attempt.report({**point, **ended}).raise_for_status()
            seen = "document.querySelector('ip-curve')?.plot?.data[0].length"
            times.append(browser.since(began, f"{seen} === {epoch}"))
        yield _row("from a metric of a running job until its curve has it", times[1:])


def main(arguments: list[str]) -> None:
    """Run the command line."""
    many_jobs.run("page", __doc__, measure, rounds=5, arguments=arguments)
