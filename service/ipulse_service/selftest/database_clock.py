"""Sets the clock of a testbed's database, without touching the machine's."""

from __future__ import annotations

import os
from pathlib import Path

from ipulse_service.selftest.postgresql import NAME, Servers

# An unqualified `clock_timestamp()` finds this function first.
_POSTGRESQL = (
    "CREATE TABLE selftest_clock (seconds DOUBLE PRECISION NOT NULL)",
    "INSERT INTO selftest_clock VALUES (0)",
    "CREATE FUNCTION clock_timestamp() RETURNS TIMESTAMP WITH TIME ZONE LANGUAGE SQL VOLATILE AS"
    " 'SELECT pg_catalog.clock_timestamp() + make_interval(secs => seconds) FROM selftest_clock'",
    f"ALTER DATABASE {NAME} SET search_path = public, pg_catalog",
)


class DatabaseClock:
    """The clock of the database, wrong by as many seconds as was last set."""

    def __init__(self, folder: Path, servers: Servers | None) -> None:
        self._path = folder / "clock"
        self._servers = servers

    def prepare(self) -> None:
        """Makes the clock settable; called before the service starts."""
        if self._servers is None:
            self.set(0)
            return
        for statement in _POSTGRESQL:
            self._servers.primary.execute(statement, NAME)

    @property
    def environment(self) -> dict[str, str]:
        """The variables for the processes of the stack."""
        return {} if self._servers else {"IPULSE_SELFTEST_CLOCK": str(self._path)}

    def set(self, seconds: float) -> None:
        """Makes the clock wrong by so many seconds, at once."""
        if self._servers is not None:
            set_seconds = f"UPDATE selftest_clock SET seconds = {float(seconds)}"  # noqa: S608 - a number
            self._servers.primary.execute(set_seconds, NAME)
            return
        draft = self._path.with_suffix(".draft")
        draft.write_text(f"{seconds}")
        os.replace(draft, self._path)
