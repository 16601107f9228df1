"""Submissions: how long one takes, how many a second are borne, and what each costs in memory."""

from __future__ import annotations

import asyncio
from typing import Any

from benchmarks.load.clients import at_rate, in_lanes, one_by_one
from benchmarks.load.payload import Order
from benchmarks.load.side import Side

FIRST_RATE = 60.0  # a second
GROWTH = 1.5
ENOUGH_SECONDS = 10.0  # for submissions one after the other
STEP_SECONDS = 4.0
HELD_SECONDS = 10.0
GREATEST_P99 = 500.0  # milliseconds; a service that answers later does not hold the rate
LANES = 16


def submissions(side: Side, count: int) -> dict[str, Any]:
    """Milliseconds of submissions one after the other, while a worker runs them; `count` of them,
    or fewer where they take long. And right after them those of asking for one job's status."""
    submitted = asyncio.run(one_by_one(side, side.submission, count, ENOUGH_SECONDS))
    with side.http() as http:
        job = side.submit(http, Order())
    status = asyncio.run(one_by_one(side, lambda: side.status(job), count, ENOUGH_SECONDS))
    return {**submitted.figures(), "status": status.all_good().figures()}


def rate_held(side: Side) -> dict[str, Any]:
    """The greatest rate of a ladder that is held: no error, and p99 in time."""
    ladder: list[dict[str, Any]] = []
    rate = FIRST_RATE
    while _try(side, rate, STEP_SECONDS, ladder):
        rate *= GROWTH
    while rate > 1:
        rate /= GROWTH
        if _try(side, rate, HELD_SECONDS, ladder):
            return {"held_per_second": rate, **ladder[-1], "ladder": ladder}
    return {"held_per_second": 0.0, "ladder": ladder}


def backlog(side: Side, count: int) -> dict[str, Any]:
    """Submissions while `count` jobs pile up that nobody runs: the first tenth of them against
    the last, and the memory that each queued job takes in the service and the broker."""
    tenth = max(1, count // 10)
    with side.http() as http:
        side.submit(http, Order())  # what the first one needs is not a queued job's
    side.await_quiet()
    before = side.memory()
    parts = [
        asyncio.run(in_lanes(side, side.submission, few, LANES))
        for few in (tenth, count - 2 * tenth, tenth)
    ]
    errors = sum(sum(part.errors.values()) for part in parts)
    return {
        "queued": sum(part.submitted for part in parts),
        "errors": errors,
        "per_second_first_tenth": tenth / parts[0].seconds,
        "per_second_last_tenth": tenth / parts[-1].seconds,
        "p99_first_tenth": parts[0].figures().get("p99"),
        "p99_last_tenth": parts[-1].figures().get("p99"),
        "bytes_per_queued_job": (side.memory() - before) / count,
    }


def _try(side: Side, rate: float, seconds: float, ladder: list[dict[str, Any]]) -> bool:
    answers = asyncio.run(at_rate(side, side.submission, rate, seconds))
    figures = {"offered": rate, "seconds": answers.seconds, **answers.figures()}
    ladder.append(figures)
    return not answers.errors and figures["p99"] < GREATEST_P99
