"""Reads a stack's PostgreSQL database for the faults and the audit."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path
from typing import Any

from ipulse_service.selftest.records import BUSY_SECONDS, Records

RETRY_SECONDS = 0.2


class PostgreSQLRecords(Records):
    """Reads records and waits while the server is down."""

    def __init__(self, url: str) -> None:
        self._url = url

    def lock(self) -> Any:
        """Returns a connection that locks the tables until it is closed."""
        connection = self._connect()
        connection.execute("LOCK TABLE jobs, attempts, events IN EXCLUSIVE MODE")
        return connection

    def sound(self) -> bool:
        """Returns True: PostgreSQL checks its own files."""
        return True

    def keep(self, folder: Path) -> None:
        """Does nothing: the servers keep their folders themselves."""

    def _rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        import psycopg

        deadline = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                with closing(self._connect()) as connection:
                    found: list[tuple[Any, ...]] = connection.execute(
                        query.replace("?", "%s").encode(), values
                    ).fetchall()
                    return found
            except psycopg.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(RETRY_SECONDS)

    def _connect(self) -> Any:
        import psycopg  # the extra `postgresql`

        return psycopg.connect(self._url)
