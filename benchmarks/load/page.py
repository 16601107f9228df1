"""docs/load.md from the results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[2] / "docs" / "load.md"
Row = dict[str, Any]

HEAD = """<!-- Written by `benchmarks.service --report`; change the code or the results. -->

# What the service bears

`python -m benchmarks.service` measures it: each part starts each side afresh, with real processes,
a real Redis and a real disk, one side after the other in one run. *Bare Celery* is FastAPI, a row
in SQLite and a Celery message, with Celery's defaults (`benchmarks/load/celery_shim.py`). Jobs do
nothing: IPUlse's run as a process each, the bare service's as a function in one of two workers. The
clients are pinned to one processor; the services have them all. Each figure was measured once:
ratios below 1.5 say nothing.
"""


def write(results: Row) -> None:
    """Writes the page. results: what benchmarks/results/service.json holds."""
    host, parts = results["machine"], results["parts"]
    lines = [
        HEAD,
        f"Measured on {host['cores']} cores of {host['processor']}, {host['system']}.",
        "",
    ]
    promises = {side: row["promise"] for rows in parts.values() for side, row in rows.items()}
    lines += table(("", "what an accepted job survives"), promises.items())
    for part, make in SECTIONS.items():
        if part in parts:
            lines += ["", *make({side: row["figures"] for side, row in parts[part].items()})]
    lines += ["", "## How long it took", "", "Seconds, without the starts.", ""]
    sides = list(promises)
    body = [
        (part, *(rows[side]["seconds"] if side in rows else "" for side in sides))
        for part, rows in parts.items()
    ]
    lines += table(("", *sides), body)
    PAGE.write_text("\n".join(lines) + "\n")


def submissions(rows: Row) -> list[str]:
    body = [(side, f["p50"], f["p99"], f["max"]) for side, f in rows.items()]
    return [
        "## One submission after the other",
        "",
        "Over one connection, while a worker runs the jobs; milliseconds.",
        "",
        *table(("", "p50", "p99", "greatest"), body),
    ]


def rate(rows: Row) -> list[str]:
    body = [
        (side, f["held_per_second"], f.get("p50", ""), f.get("p99", ""), _next(f))
        for side, f in rows.items()
    ]
    return [
        "## Submissions a second",
        "",
        "At planned instants, while a worker runs the jobs: the greatest rate of a ladder (each"
        " step half as much again) that was held for ten seconds without an error and with p99"
        " below half a second. Times count from the planned instant.",
        "",
        *table(("", "held, a second", "p50 ms", "p99 ms", "first step that failed"), body),
    ]


def _next(figures: Row) -> str:
    failed = [step for step in figures["ladder"] if step.get("errors") or step["p99"] >= 500]
    if not failed:
        return ""
    step = failed[0]
    errors = f", {step['errors']}" if step.get("errors") else ""
    return f"{step['offered']:.0f} a second: p99 {step.get('p99', 0):.0f} ms{errors}"


def backlog(rows: Row) -> list[str]:
    body = [
        (
            side,
            f["queued"],
            f["per_second_first_tenth"],
            f["per_second_last_tenth"],
            f["p99_first_tenth"],
            f["p99_last_tenth"],
            f["bytes_per_queued_job"] / 1024,
            f["errors"],
        )
        for side, f in rows.items()
    ]
    head = ("", "queued", "first tenth, a second", "last tenth", "p99 ms, first tenth")
    return [
        "## A backlog",
        "",
        "Sixteen connections submit as fast as they are answered; nobody runs the jobs.",
        "",
        *table((*head, "last tenth", "KiB a queued job", "errors"), body),
    ]


def stored(rows: Row) -> list[str]:
    body = [
        (
            side,
            row["jobs"],
            row["status"]["p50"],
            row["status"]["p99"],
            row["status_16"]["per_second"],
            row["status_16"]["p99"],
            row["list"]["p50"],
            row["list"]["p99"],
        )
        for side, figures in rows.items()
        for row in figures
    ]
    head = ("", "stored jobs", "status p50 ms", "p99", "16 connections, a second", "p99 ms")
    return ["## Many stored jobs", "", *table((*head, "list of 100, p50 ms", "p99"), body)]


def streams(rows: Row) -> list[str]:
    body = [
        (side, f["streams"], f["received"], f["p50"], f["p99"], f["max"])
        for side, f in rows.items()
    ]
    return [
        "## Event streams",
        "",
        "From an agent's word to its arrival on each of many open streams of one job; in ms.",
        "",
        *table(("", "streams", "events received", "p50", "p99", "greatest"), body),
    ]


def downloads(rows: Row) -> list[str]:
    body = [(side, f["mebibytes"], f["mib_per_second"], f["grown_mib"]) for side, f in rows.items()]
    return [
        "## Downloads",
        "",
        "Median of five; IPUlse checks the file's digest as it reads.",
        "",
        *table(("", "file, MiB", "MiB a second", "service grew by, MiB"), body),
    ]


SECTIONS = {
    "submissions": submissions,
    "rate": rate,
    "backlog": backlog,
    "stored": stored,
    "streams": streams,
    "downloads": downloads,
}


def table(head: Any, body: Any) -> list[str]:
    """Lines of a Markdown table."""
    rule = ["---" if index == 0 else "---:" for index in range(len(head))]
    return ["| " + " | ".join(map(_shown, row)) + " |" for row in (head, rule, *body)]


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
