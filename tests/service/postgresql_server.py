"""A PostgreSQL of the tests' own, in a temporary folder."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from ipulse_service.selftest import postgresql


class PostgreSQLServer(postgresql.PostgreSQLServer):
    """Runs while its context is open; what it kept is gone afterwards."""

    def __init__(self, programs: Path, is_durable: bool = False) -> None:
        self._root = Path(tempfile.mkdtemp(prefix="ipulse-postgresql-"))
        self._root.chmod(0o711)
        self._databases = 0
        super().__init__(programs, self._root / "server", is_durable)

    def __enter__(self) -> Self:
        self.make()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()
        shutil.rmtree(self._root)

    def new_database(self) -> str:
        """The URL of an empty database."""
        self._databases += 1
        name = f"test_{self._databases}_{time.monotonic_ns()}"
        self.execute(f"CREATE DATABASE {name} STRATEGY = file_copy")
        return f"postgresql://{postgresql.USER}@/{name}?host={self.sockets}"
