"""What the service is to reach, beside the others of the same run: met or missed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks.load.table import table

Figures = dict[str, dict[str, Any]]  # part -> side -> what it measured
OURS = "IPUlse, SQLite"
SERVER = "IPUlse, PostgreSQL"
BARE, DURABLE = "bare Celery", "bare Celery, durable"
RAY, PREFECT, MLFLOW = "Ray Jobs", "Prefect", "MLflow"
FLAT = 1.5  # what may lie between two figures that count as the same, each measured once
RERUN_SECONDS = 20.0


@dataclass(frozen=True)
class Goal:
    what: str
    unit: str
    of: Callable[[Figures, str], float]  # a side's figure
    bound: float = 0.0
    beside: str = ""  # the side of whose figure `bound` is a multiple
    is_least: bool = False  # at least so much, else at most
    side: str = OURS

    def row(self, figures: Figures) -> tuple[str, ...]:
        """What, goal, measured, met or missed."""
        bound: float | None = None if self.beside else self.bound
        try:
            bound = self.bound * (self.of(figures, self.beside) if self.beside else 1.0)
            measured = self.of(figures, self.side)
        except KeyError:
            return (self.what, self._words(bound), "", "not measured")
        is_met = measured >= bound if self.is_least else measured <= bound
        unit = f" {self.unit}".rstrip()
        return (
            self.what,
            self._words(bound),
            f"{measured:.3g}{unit}",
            "met" if is_met else "missed",
        )

    def _words(self, bound: float | None) -> str:
        limit = "≥" if self.is_least else "≤"
        shown = "?" if bound is None else f"{bound:.3g}"
        unit = f" {self.unit}".rstrip()
        times = f" ({self.bound:g} × {self.beside})" if self.beside else ""
        return f"{limit} {shown}{unit}{times}"


def _at(part: str, *keys: str) -> Callable[[Figures, str], float]:
    def found(figures: Figures, side: str) -> float:
        value: Any = figures[part][side]
        for key in keys:
            value = value[key]
        return float(value)

    return found


def _with(jobs: int, what: str) -> Callable[[Figures, str], float]:
    """p99 with so many stored jobs."""

    def found(figures: Figures, side: str) -> float:
        rows = {row["jobs"]: row for row in figures["stored"][side]}
        return float(rows[jobs][what]["p99"])

    return found


def _growth(what: str) -> Callable[[Figures, str], float]:
    """p99 with 100,000 stored jobs over that with 100."""
    most, fewest = _with(100_000, what), _with(100, what)
    return lambda figures, side: most(figures, side) / fewest(figures, side)


def _last_over_first(figures: Figures, side: str) -> float:
    row = figures["backlog"][side]
    return float(row["per_second_last_tenth"] / row["per_second_first_tenth"])


def _kib_queued(figures: Figures, side: str) -> float:
    return float(figures["backlog"][side]["bytes_per_queued_job"] / 1024)


def _rerun(figures: Figures, side: str) -> float:
    seconds = figures["kill"][side]["rerun_seconds"]
    return float("inf") if seconds is None else float(seconds)


def _seen(figures: Figures, side: str) -> float:
    seconds = figures["kill_job"][side]["seen_seconds"]
    return float("inf") if seconds is None else float(seconds)


def _old_alive(figures: Figures, side: str) -> float:
    overlapping = figures["faults"][side]["old_runner_beside_next"]
    return float(figures["kill"][side]["is_old_alive"]) + len(overlapping)


def _count(what: str) -> Callable[[Figures, str], float]:
    return lambda figures, side: float(len(figures["faults"][side][what]))


def _slowest_rerun(*faults: str) -> Callable[[Figures, str], float]:
    def found(figures: Figures, side: str) -> float:
        rows = {row["fault"]: row["rerun_seconds"] for row in figures["faults"][side]["faults"]}
        return max(seconds for fault in faults for seconds in rows[fault])

    return found


SUBMIT_P50, SUBMIT_P99 = _at("submissions", "p50"), _at("submissions", "p99")
STATUS_THEN = _at("submissions", "status", "p99")
FIRST_LINE, END_SEEN = _at("one_by_one", "first_line", "p50"), _at("one_by_one", "end_seen", "p50")
COLD = _at("cold", "first_job_seconds")
IDLE = _at("memory", "idle_mib")
FIRST_STEP = _at("first_step", "first step", "p99")
RUNNING = _at("memory", "running_mib")
SLOWEST_RERUN = _slowest_rerun("kill agent", "kill runner")
ANSWERS = _at("answers_again", "seconds")
FILE_IN, FILE_OUT = _at("uploads", "mib_per_second"), _at("downloads", "mib_per_second")

GOALS = (
    Goal("submission, p50", "ms", SUBMIT_P50, 1.5, DURABLE),
    Goal("submission, p99", "ms", SUBMIT_P99, 1.5, DURABLE),
    Goal("submission, p50", "ms", SUBMIT_P50, 0.7, RAY),
    Goal("submission, p99", "ms", SUBMIT_P99, 0.7, RAY),
    Goal("submission, p50", "ms", SUBMIT_P50, 0.3, PREFECT),
    Goal("submission, p99", "ms", SUBMIT_P99, 0.3, PREFECT),
    Goal("submissions held", "a second", _at("rate", "held_per_second"), 1.0, BARE, True),
    Goal("last tenth of 10,000 queued over the first", "", _last_over_first, 1 / FLAT, "", True),
    Goal("submission to first line, cold, p50", "ms", FIRST_LINE, 2.0, BARE),
    Goal("submission to first line, cold, p50", "ms", FIRST_LINE, 0.1, RAY),
    Goal("submission to first line, cold, p50", "ms", FIRST_LINE, 0.01, PREFECT),
    Goal("submission to first training step, warm, p99", "ms", FIRST_STEP, 500.0),
    Goal("end to its being seen, p50", "ms", END_SEEN, 1.0, BARE),
    Goal("end to its being seen, p50", "ms", END_SEEN, 0.3, RAY),
    Goal("status with 10,000 jobs, p99", "ms", _with(10_000, "status"), 3.0, BARE),
    Goal("list of 100 with 10,000 jobs, p99", "ms", _with(10_000, "list"), 3.0, BARE),
    Goal("status p99, 100,000 jobs over 100", "", _growth("status"), FLAT),
    Goal("status right after the submissions, p99", "ms", STATUS_THEN, 0.5, RAY),
    Goal("list p99, 100,000 jobs over 100", "", _growth("list"), FLAT),
    Goal("the same of status, PostgreSQL", "", _growth("status"), FLAT, side=SERVER),
    Goal("the same of list, PostgreSQL", "", _growth("list"), FLAT, side=SERVER),
    Goal("memory, idle", "MiB", IDLE, 1.5, BARE),
    Goal("memory, idle", "MiB", IDLE, 0.35, RAY),
    Goal("memory of a queued job", "KiB", _kib_queued, 2.0),
    Goal("memory of a running job beyond a bare process", "MiB", RUNNING, 10.0),
    Goal("from nothing to the first job's end", "s", COLD, 2.0),
    Goal("from nothing to the first job's end", "s", COLD, 0.4, RAY),
    Goal("from nothing to the first job's end", "s", COLD, 0.15, PREFECT),
    Goal("killed worker to the next run, by the lease", "s", _rerun, RERUN_SECONDS),
    Goal("killed process of a job, seen after", "s", _seen, 5.0),
    Goal("old runs alive beside the next", "", _old_alive, 0.0),
    Goal("killed agent or runner to the next run, slowest", "s", SLOWEST_RERUN, RERUN_SECONDS),
    Goal("jobs lost by kills of any part", "", _count("lost"), 0.0),
    Goal("jobs run twice officially", "", _count("run_twice_officially"), 0.0),
    Goal("killed service, started again 2 s later, answers", "s", ANSWERS, 3.0),
    Goal("download of 256 MiB", "MiB/s", FILE_OUT, 0.8, BARE, True),
    Goal("download of 256 MiB", "MiB/s", FILE_OUT, 1.5, MLFLOW, True),
    Goal("growth of the service by downloads", "MiB", _at("downloads", "grown_mib"), 16.0),
    Goal("upload of 256 MiB", "MiB/s", FILE_IN, 180.0, "", True),
    Goal("upload of 256 MiB", "MiB/s", FILE_IN, 3.0, MLFLOW, True),
    Goal("lines lost of 10,000", "", _at("lines", "lost"), 0.0),
    Goal("whole log after the end of 10,000 lines", "s", _at("lines", "whole_after_seconds"), 0.2),
    Goal("reading 10,000 lines", "s", _at("lines", "read_seconds"), 1.0, RAY),
)


def section(figures: Figures) -> list[str]:
    return [
        "## Goals",
        "",
        f"Of *{OURS}* unless another is named, beside the others of the same run.",
        "",
        *table(("", "goal", "measured", ""), _rows(figures)),
    ]


def _rows(figures: Figures) -> Iterator[tuple[str, ...]]:
    for goal in GOALS:
        yield goal.row(figures)
