"""Reading: states and lists over many stored jobs, event streams, downloads."""

from __future__ import annotations

import asyncio
import itertools
import time
from typing import Any

from benchmarks.load.clients import client, in_lanes, one_by_one, percentiles
from benchmarks.load.ipulse_side import IpulseSide
from benchmarks.load.side import Side
from tests.service.agents import METRIC, PHASES, phase

LANES = 16
GAP_SECONDS = 1.0  # between two of them
STREAMS_SECONDS = 180.0  # for all of it


def stored(side: Side, job: str, counts: list[int], requests: int) -> list[dict[str, Any]]:
    """Status and list, each asked as often, as the number of stored jobs grows; `job` has ended and
    is what they copy."""
    rows = []
    there = 1
    for count in counts:
        side.multiply(job, count - there)
        there = count
        status = asyncio.run(one_by_one(side, lambda: side.status(job), requests))
        lanes = asyncio.run(in_lanes(side, lambda: side.status(job), requests, LANES))
        newest = asyncio.run(one_by_one(side, side.newest, requests))
        rows.append(
            {
                "jobs": count,
                "status": status.all_good().figures(),
                "status_16": {
                    **lanes.all_good().figures(),
                    "per_second": requests / lanes.seconds,
                },
                "list": newest.all_good().figures(),
            }
        )
    return rows


def streams(side: IpulseSide, count: int, events: int = 20) -> dict[str, Any]:
    """Milliseconds from an agent's word to its arrival on each of `count` open streams."""

    async def bounded() -> dict[str, Any]:
        async with asyncio.timeout(STREAMS_SECONDS):
            return await _streams(side, count, events)

    return asyncio.run(bounded())


async def _streams(side: IpulseSide, count: int, events: int) -> dict[str, Any]:
    lags: list[float] = []
    said: dict[int, float] = {}
    opened = asyncio.Semaphore(0)
    async with client(side, count + 8) as http:
        call = side.submission()
        posted = await http.post(call.path, content=call.content, headers=dict(call.headers))
        job = posted.json()["id"]
        with side.worker() as worker:
            attempt = side.claim(worker, job)
            for name in PHASES[:4]:
                attempt.say(phase(name))

            async def follow() -> None:
                headers = {"accept": "text/event-stream"}
                path = f"/v1/jobs/{job}/events?kind=metric"
                async with http.stream("GET", path, headers=headers, timeout=None) as response:
                    opened.release()
                    seen = itertools.count()
                    async for line in response.aiter_lines():
                        if line.startswith("event: metric"):
                            lags.append((time.perf_counter() - said[next(seen)]) * 1000)
                        if line.startswith("event: end"):
                            return

            async with asyncio.TaskGroup() as readers:  # one that fails ends them all
                for _ in range(count):
                    readers.create_task(follow())
                for _ in range(count):
                    await opened.acquire()
                for number in range(events):
                    await asyncio.sleep(GAP_SECONDS)
                    await asyncio.to_thread(attempt.heartbeat)
                    said[number] = time.perf_counter()
                    metric = {**METRIC, "step": number + 1, "steps": 100}
                    await asyncio.to_thread(attempt.say, metric)
                await asyncio.sleep(GAP_SECONDS)
                await asyncio.to_thread(attempt.finish, "out_of_memory")
    return {"streams": count, "events": events, "received": len(lags), **percentiles(lags)}
