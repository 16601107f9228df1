from __future__ import annotations

import asyncio
import threading

import pytest

from ipulse_service.db.shared_reads import SharedReads

MANY = 50


def test_a_request_during_a_read_shares_the_next_one() -> None:
    """Not the one that is under way: it may have begun before the change they ask about."""
    begun, go_on = threading.Event(), threading.Event()
    looks: list[int] = []

    def read() -> int:
        number = len(looks) + 1
        looks.append(number)
        if number == 1:
            begun.set()
            go_on.wait()
        return number

    async def ask() -> list[int]:
        reads = SharedReads()
        first = asyncio.create_task(reads.get("a job", read))
        await asyncio.to_thread(begun.wait)
        others = [asyncio.create_task(reads.get("a job", read)) for _ in range(MANY)]
        # Everything queued now runs before these two lines are through.
        await asyncio.sleep(0)
        go_on.set()
        return [await first, *[await one for one in others]]

    results = asyncio.run(ask())
    assert results[0] == 1
    assert len(results) == 1 + MANY
    assert min(results[1:]) > 1
    assert len(looks) <= 4, "nearly each of them had a look of its own"


def test_a_cancelled_reader_does_not_cancel_others() -> None:
    go_on = threading.Event()

    async def ask() -> bool:
        reads = SharedReads()
        leaving, staying = (asyncio.create_task(reads.get(1, go_on.wait)) for _ in range(2))
        await asyncio.sleep(0)
        leaving.cancel()
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await leaving
        return await staying

    assert asyncio.run(ask())


def test_an_error_is_reported_to_each_reader() -> None:
    async def ask() -> list[object]:
        reads = SharedReads()
        return await asyncio.gather(
            *(reads.get(1, lambda: 1 // 0) for _ in range(3)), return_exceptions=True
        )

    assert [type(one) for one in asyncio.run(ask())] == [ZeroDivisionError] * 3
