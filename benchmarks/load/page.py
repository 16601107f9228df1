"""docs/load.md from the results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.load import goals
from benchmarks.load.sections import SECTIONS
from benchmarks.load.table import table

PAGE = Path(__file__).resolve().parents[2] / "docs" / "load.md"
Row = dict[str, Any]

HEAD = """<!-- Written by `benchmarks.service --report`; change the code or the results. -->

# What the service bears

`python -m benchmarks.service` measures it: each part starts each side afresh, with real processes,
a real Redis and a real disk, and its sides are of one run, one after the other. The *bare*
services are FastAPI and a row in SQLite with a queue behind it (`benchmarks/load/shim`), *Ray Jobs*
is what `ray start --head` offers, *Prefect* its server with a worker of processes, *MLflow* its
tracking server, which keeps records and files but runs no jobs; what is not of this project is
installed from PyPI into environments of its own. Jobs do nothing, or what a part says. With
*submissions* and *rate* they are a function in one of two workers where a service can do that;
IPUlse, Ray and Prefect start a process for each. The clients are pinned to one processor; the
services have them all. Each figure was measured once: ratios below 1.5 say nothing. Prefect and
MLflow, which need longer to start than most parts take, are in few of them.
"""

LOST = """Processors, on average before and after: guests on the other hyperthread of a core take
up to half of it, which SHA-256 of a block tells against the best of the run. Figures from such a
moment are worse than this machine's; before each side a run waits for a better one, within its
`--waiting`."""


def written(results: Row) -> str:
    """The page. results: what benchmarks/results/service.json holds."""
    host, parts = results["machine"], results["parts"]
    ran = {
        part: {side: row for side, row in rows.items() if "missing" not in row}
        for part, rows in parts.items()
    }
    lines = [
        HEAD,
        f"Measured on {host['cores']} cores of {host['processor']}, {host['system']}.",
        "",
    ]
    promises = {side: row["promise"] for rows in ran.values() for side, row in rows.items()}
    lines += table(("", "what an accepted job survives"), promises.items())
    lines += _missing(parts)
    figures = {
        part: {side: row["figures"] for side, row in rows.items()} for part, rows in ran.items()
    }
    lines += ["", *goals.section(figures)]
    for part, make in SECTIONS.items():
        if figures.get(part):
            lines += ["", *make(figures[part])]
    lines += ["", "## How long it took", "", "Seconds, with the starts.", ""]
    lines += _of_each(ran, list(promises), "seconds")
    lines += ["", "## What was not to be had", "", LOST, ""]
    lines += _of_each(ran, list(promises), "lost")
    return "\n".join(lines) + "\n"


def _of_each(ran: Row, sides: list[str], what: str) -> list[str]:
    """One figure of every part and side."""
    body = [
        (part, *(rows[side].get(what, "") if side in rows else "" for side in sides))
        for part, rows in ran.items()
    ]
    return table(("", *sides), body)


def _missing(parts: Row) -> list[str]:
    told = {
        f"{side} was not measured: {row['missing']}"
        for rows in parts.values()
        for side, row in rows.items()
        if "missing" in row
    }
    return ["", *sorted(told)] if told else []
