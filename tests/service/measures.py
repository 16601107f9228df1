"""Measures of the costs of a request for others, such as the longest write transaction."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Engine, event


class Transactions:
    """Measures how long transactions hold the write lock of SQLite.

    Seconds are those of the processor, because the tests of others run on the machine, too.
    """

    def __init__(self, engine: Any) -> None:
        self.longest = 0.0
        self._engine: Engine = engine
        self._begun: dict[int, float] = {}

    @contextmanager
    def watching(self) -> Iterator[Transactions]:
        """Measures while the block runs."""
        listeners = (
            ("before_cursor_execute", self._begin),
            ("commit", self._end),
            ("rollback", self._end),
        )
        for name, listener in listeners:
            event.listen(self._engine, name, listener)
        try:
            yield self
        finally:
            for name, listener in listeners:
                event.remove(self._engine, name, listener)

    def _begin(self, connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        word = statement.lstrip()[:6].upper()
        is_write = word in ("INSERT", "UPDATE", "DELETE") or statement.startswith("BEGIN IMMEDIATE")
        if is_write:
            self._begun.setdefault(id(connection), time.thread_time())

    def _end(self, connection: Any) -> None:
        begun = self._begun.pop(id(connection), None)
        if begun is not None:
            self.longest = max(self.longest, time.thread_time() - begun)
