"""Measure how long an event takes from an agent to many open streams of one job."""

from __future__ import annotations

import asyncio
import itertools
import time
from pathlib import Path

from benchmarks.common.tables import Row
from benchmarks.service.clients import client, percentiles
from benchmarks.service.payload import NOTHING
from benchmarks.service.systems.ipulse import IpulseSystem
from benchmarks.service.systems.system import System
from tests.service.agents import METRIC, PHASES, Attempt, phase

GAP_SECONDS = 1.0  # between two events
LIMIT_SECONDS = 180.0


def streams(system: System, _: Path, quick: bool) -> Row:
    """Return the milliseconds until an event arrives on each of 1,000 streams."""
    assert isinstance(system, IpulseSystem)
    count, events = (20, 3) if quick else (1_000, 10)
    with system.http() as http:
        job = system.submit(http, NOTHING)
        with system.attempt(http, job) as attempt:
            for name in PHASES[:4]:
                attempt.report(phase(name))
            latencies = asyncio.run(_watch(system, job, attempt, count, events))
    return {"streams": count, "received": len(latencies), **percentiles(latencies)}


async def _watch(
    system: IpulseSystem, job: str, attempt: Attempt, count: int, events: int
) -> list[float]:
    latencies: list[float] = []
    sent: dict[int, float] = {}
    opened = asyncio.Semaphore(0)

    async def follow() -> None:
        headers = {"accept": "text/event-stream"}
        path = f"/v1/jobs/{job}/events?kind=metric"
        async with http.stream("GET", path, headers=headers, timeout=None) as response:
            opened.release()
            numbers = itertools.count()
            async for line in response.aiter_lines():
                if line.startswith("event: metric"):
                    latencies.append((time.perf_counter() - sent[next(numbers)]) * 1000)
                if line.startswith("event: end"):
                    return

    async with (
        asyncio.timeout(LIMIT_SECONDS),
        client(system, count + 8) as http,
        asyncio.TaskGroup() as readers,
    ):
        for _ in range(count):
            readers.create_task(follow())
        for _ in range(count):
            await opened.acquire()
        for number in range(events):
            await asyncio.sleep(GAP_SECONDS)
            await asyncio.to_thread(attempt.heartbeat)
            sent[number] = time.perf_counter()
            metric = {**METRIC, "step": number + 1, "steps": 100}
            await asyncio.to_thread(attempt.report, metric)
        await asyncio.sleep(GAP_SECONDS)
        await asyncio.to_thread(attempt.finish, "out_of_memory")
    return latencies
