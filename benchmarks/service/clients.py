"""Clients that call a service: one request after the other, or at planned instants."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import httpx

from benchmarks.service.systems.system import Call, System

TIMEOUT = 30.0  # seconds for one answer
MakeCall = Callable[[], Call]


@dataclass
class Answers:
    """The milliseconds of each good answer, and the errors by kind."""

    milliseconds: list[float] = field(default_factory=list)
    errors: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0  # from the first request to the last answer

    def failed(self, kind: str) -> None:
        """Count an error."""
        self.errors[kind] = self.errors.get(kind, 0) + 1

    def figures(self, prefix: str = "") -> dict[str, float]:
        """Return the percentiles, and the number of errors if there are any."""
        figures = percentiles(self.milliseconds, prefix)
        if self.errors:
            figures[f"{prefix}errors"] = sum(self.errors.values())
        return figures


def percentiles(samples: Sequence[float], prefix: str = "") -> dict[str, float]:
    """Return p50, p99 and the maximum of milliseconds; nothing without samples."""
    ordered = sorted(samples)
    shares = (("p50", 0.50), ("p99", 0.99), ("max", 1.0))
    return {
        f"{prefix}{name}_ms": ordered[math.ceil(share * len(ordered)) - 1]
        for name, share in shares
        if ordered
    }


def client(system: System, connections: int) -> httpx.AsyncClient:
    """Return a client that keeps its connections open."""
    limits = httpx.Limits(max_connections=connections, max_keepalive_connections=connections)
    return httpx.AsyncClient(
        base_url=system.url, headers=system.headers(), limits=limits, timeout=TIMEOUT
    )


def one_by_one(
    system: System, make: MakeCall, count: int, limit: float = math.inf, warm_up: int = 10
) -> Answers:
    """Send `count` requests over one connection, each after the previous answer.

    No request begins after `limit` seconds; `warm_up` requests before them do not count.
    """

    async def send() -> Answers:
        answers = Answers()
        async with client(system, 1) as http:
            for _ in range(warm_up):
                await ask(http, make(), Answers())
            began = time.perf_counter()
            for _ in range(count):
                if time.perf_counter() - began > limit:
                    break
                await ask(http, make(), answers)
            answers.seconds = time.perf_counter() - began
        return answers

    return asyncio.run(send())


def at_rate(system: System, make: MakeCall, rate: float, seconds: float) -> Answers:
    """Send `rate` requests per second at planned instants, and time each from its instant.

    A service that stalls is thus also measured on the requests that arrive meanwhile.
    """

    async def send() -> Answers:
        answers = Answers()
        async with client(system, 256) as http, asyncio.TaskGroup() as group:
            began = time.perf_counter()
            for number in range(int(rate * seconds)):
                planned = began + number / rate
                await asyncio.sleep(max(0.0, planned - time.perf_counter()))
                group.create_task(ask(http, make(), answers, planned))
        answers.seconds = time.perf_counter() - began
        return answers

    return asyncio.run(send())


def in_parallel(system: System, make: MakeCall, count: int, connections: int) -> Answers:
    """Send `count` requests over several connections, each as fast as it is answered."""

    async def send() -> Answers:
        answers = Answers()
        remaining = iter(range(count))

        async def lane() -> None:
            for _ in remaining:
                await ask(http, make(), answers)

        async with client(system, connections) as http, asyncio.TaskGroup() as group:
            began = time.perf_counter()
            for _ in range(connections):
                group.create_task(lane())
        answers.seconds = time.perf_counter() - began
        return answers

    return asyncio.run(send())


async def ask(
    http: httpx.AsyncClient, call: Call, answers: Answers, planned: float | None = None
) -> None:
    """Send one request, and record its time or its error."""
    began = time.perf_counter() if planned is None else planned
    try:
        response = await http.request(
            call.method, call.path, content=call.content or None, headers=dict(call.headers)
        )
    except httpx.HTTPError as error:
        answers.failed(type(error).__name__)
        return
    if response.is_success:
        answers.milliseconds.append((time.perf_counter() - began) * 1000)
    else:
        answers.failed(str(response.status_code))
