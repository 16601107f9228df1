"""The asynchronous client on an event loop in a thread, called like the blocking one."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from ipulse.client import AsyncConnection, AsyncFoundJobs, AsyncJobHandle, AsyncSweepHandle

_WRAPPED = (AsyncConnection, AsyncFoundJobs, AsyncJobHandle, AsyncSweepHandle)
_PROPERTIES = ("experiment", "spec")  # of the blocking client


class Awaited:
    """A connection, job or sweep that awaits its methods; equal if the wrapped objects are."""

    def __init__(self, portal: Any, target: Any) -> None:
        self.portal = portal
        self.target = target

    def __getattr__(self, name: str) -> Any:
        member = getattr(self.target, name)
        if name in _PROPERTIES:
            return self._result(member())
        if not inspect.isroutine(member):
            return self._wrapped(member)

        def call(*arguments: Any, **named: Any) -> Any:
            given = {key: _bare(value) for key, value in named.items()}
            return self._result(member(*map(_bare, arguments), **given))

        return call

    def __iter__(self) -> Iterator[Any]:
        return self._iterate(aiter(self.target))

    def __len__(self) -> int:
        count: int = self._result(self.target.count())
        return count

    def __enter__(self) -> Awaited:
        return self

    def __exit__(self, *_: object) -> None:
        self._result(self.target.close())

    def __eq__(self, other: object) -> bool:
        return bool(self.target == _bare(other))

    def __hash__(self) -> int:
        return hash(self.target)

    def _result(self, made: Any) -> Any:
        if inspect.isasyncgen(made):
            return self._iterate(made)
        return self._wrapped(self.portal.call(_finish, made) if inspect.isawaitable(made) else made)

    def _wrapped(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._wrapped(item) for item in value]
        if isinstance(value, _WRAPPED):
            # A test expects the wrapper itself where a method returns the wrapped object.
            return self if value is self.target else Awaited(self.portal, value)
        return value

    def _iterate(self, items: Any) -> Iterator[Any]:
        ended = object()
        try:
            while True:
                item = self.portal.call(_next, items, ended)
                if item is ended:
                    return
                yield self._wrapped(item)
        finally:
            self.portal.call(items.aclose)


def _bare(value: Any) -> Any:
    return value.target if isinstance(value, Awaited) else value


async def _finish(made: Any) -> Any:
    return await made


async def _next(items: Any, ended: object) -> Any:
    try:
        return await anext(items)
    except StopAsyncIteration:
        return ended
