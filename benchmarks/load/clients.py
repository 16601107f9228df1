"""Clients that ask a service: one after the other, or at planned instants whatever it does."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

from benchmarks.load.side import Call, Side

PATIENCE = 30.0  # seconds for one answer
Maker = Callable[[], Call]


@dataclass
class Answers:
    """Milliseconds of each good answer, and what the others were."""

    milliseconds: list[float] = field(default_factory=list)
    errors: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0  # from the first request to the last answer
    submitted: int = 0

    def failed(self, kind: str) -> None:
        self.errors[kind] = self.errors.get(kind, 0) + 1

    def all_good(self) -> Answers:
        """Itself. Raises SystemExit if any request failed: figures of the rest would mislead."""
        if self.errors:
            raise SystemExit(f"requests failed: {self.errors}")
        return self

    def figures(self) -> dict[str, Any]:
        """Percentiles; `errors` only if there were any."""
        told: dict[str, Any] = {
            "requests": len(self.milliseconds),
            **percentiles(self.milliseconds),
        }
        if self.errors:
            told["errors"] = self.errors
        return told


def percentiles(samples: Sequence[float]) -> dict[str, float]:
    """p50, p99 and the greatest: samples that so many are not above; empty for no samples."""
    ordered = sorted(samples)
    shares = (("p50", 0.50), ("p99", 0.99), ("max", 1.0))
    if not ordered:
        return {}
    return {name: ordered[math.ceil(share * len(ordered)) - 1] for name, share in shares}


def client(side: Side, connections: int) -> httpx.AsyncClient:
    """A client that keeps its connections."""
    limits = httpx.Limits(max_connections=connections, max_keepalive_connections=connections)
    return httpx.AsyncClient(
        base_url=side.url, headers=side.headers(), limits=limits, timeout=PATIENCE
    )


async def one_by_one(
    side: Side, make: Maker, count: int, limit: float = math.inf, warm: int = 10
) -> Answers:
    """`count` requests over one connection, each after the answer to the one before; none that
    would begin after `limit` seconds."""
    answers = Answers()
    async with client(side, 1) as http:
        for _ in range(warm):
            await ask(http, make(), Answers())
        began = time.perf_counter()
        for _ in range(count):
            if time.perf_counter() - began > limit:
                break
            await ask(http, make(), answers)
        answers.seconds = time.perf_counter() - began
    return answers


async def at_rate(side: Side, make: Maker, rate: float, seconds: float) -> Answers:
    """Requests at planned instants, `rate` a second; each is timed from its instant, so that a
    service that stalls is not spared the requests that would have come meanwhile."""
    answers = Answers()
    async with client(side, 256) as http, asyncio.TaskGroup() as group:
        began = time.perf_counter()
        for number in range(int(rate * seconds)):
            planned = began + number / rate
            await asyncio.sleep(max(0.0, planned - time.perf_counter()))
            group.create_task(ask(http, make(), answers, planned))
    answers.seconds = time.perf_counter() - began
    return answers


async def in_lanes(side: Side, make: Maker, count: int, lanes: int) -> Answers:
    """`count` requests over so many connections, each as fast as it is answered."""
    answers = Answers()
    left = iter(range(count))

    async def lane() -> None:
        for _ in left:
            await ask(http, make(), answers)

    async with client(side, lanes) as http, asyncio.TaskGroup() as group:
        began = time.perf_counter()
        for _ in range(lanes):
            group.create_task(lane())
    answers.seconds = time.perf_counter() - began
    return answers


async def ask(
    http: httpx.AsyncClient, call: Call, answers: Answers, planned: float | None = None
) -> None:
    """Sends one request, and notes how it went."""
    began = time.perf_counter() if planned is None else planned
    try:
        response = await http.request(
            call.method, call.path, content=call.content or None, headers=dict(call.headers)
        )
    except httpx.HTTPError as error:
        answers.failed(type(error).__name__)
        return
    if not response.is_success:
        answers.failed(str(response.status_code))
        return
    answers.milliseconds.append((time.perf_counter() - began) * 1000)
    if call.method == "POST":
        answers.submitted += 1
