"""Turns of tokens at the reader."""

from __future__ import annotations

import asyncio

import pytest

from ipulse_service.reading import turns
from ipulse_service.reading.turns import ReaderBusy, Turns


class Crowd:
    """Requests that hold their turns until they are let go."""

    def __init__(self, places: int) -> None:
        self.turns = Turns(places)
        self.begun: list[str] = []
        self._ends: dict[str, asyncio.Event] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def ask(self, name: str) -> None:
        """Asks for a turn; the first letter of a name is the token."""
        self._ends[name] = asyncio.Event()
        self._tasks[name] = asyncio.create_task(self._read(name))
        await self._settle()

    async def end(self, name: str) -> None:
        self._ends[name].set()
        await self._settle()

    async def cancel(self, name: str) -> None:
        self._tasks[name].cancel()
        await self._settle()

    async def _read(self, name: str) -> None:
        async with self.turns.turn(name[0]):
            self.begun.append(name)
            await self._ends[name].wait()

    async def _settle(self) -> None:
        for _ in range(10):
            await asyncio.sleep(0)


def test_a_bomb_of_one_token_delays_only_that_token() -> None:
    async def run() -> None:
        crowd = Crowd(places=2)
        for name in ("a1", "a2", "a3", "b1", "b2", "c1"):
            await crowd.ask(name)
        assert crowd.begun == ["a1", "b1"]  # one of each token
        await crowd.end("b1")
        assert crowd.begun == ["a1", "b1", "c1"]  # c never had a turn
        await crowd.end("c1")
        assert crowd.begun[3:] == ["b2"]  # a still reads its first
        await crowd.end("b2")
        assert crowd.begun[4:] == []
        await crowd.end("a1")
        assert crowd.begun[4:] == ["a2"]

    asyncio.run(run())


def test_a_request_that_is_given_up_leaves_its_place() -> None:
    async def run() -> None:
        crowd = Crowd(places=1)
        for name in ("a1", "b1", "c1"):
            await crowd.ask(name)
        await crowd.cancel("b1")  # it waits
        await crowd.cancel("a1")  # it reads
        assert crowd.begun == ["a1", "c1"]

    asyncio.run(run())


def test_who_waits_for_long_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "WAIT_SECONDS", 0.01)

    async def run() -> None:
        crowd = Crowd(places=1)
        await crowd.ask("a1")
        with pytest.raises(ReaderBusy):
            async with crowd.turns.turn("b"):
                pass
        await crowd.end("a1")
        async with crowd.turns.turn("b"):
            pass

    asyncio.run(run())


def test_one_token_cannot_fill_the_queue() -> None:
    async def run() -> None:
        crowd = Crowd(places=1)
        for number in range(turns.MOST_WAITING + 1):
            await crowd.ask(f"a{number}")
        with pytest.raises(ReaderBusy):
            async with crowd.turns.turn("a"):
                pass
        await crowd.ask("b1")
        await crowd.end("a0")
        assert crowd.begun == ["a0", "b1"]

    asyncio.run(run())
