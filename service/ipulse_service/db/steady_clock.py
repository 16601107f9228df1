"""The time of the service: it passes evenly when the database's clock is set."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, func, insert, select, update

from ipulse_service.db import calendar
from ipulse_service.db.calendar import Era
from ipulse_service.db.tables import clock_eras

# A smaller deviation is drift, which is followed. It is a fraction of any sensible lease.
TOLERANCE_MS = 1_000

_NEWEST = select(func.max(clock_eras.c.pk))
_ERAS = select(clock_eras).order_by(clock_eras.c.pk)

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Reading:
    """A time, and the moments of this machine's own clock before and after it was read."""

    steady: int
    before: int
    after: int


def elapsed_ms() -> int:
    """Returns the milliseconds since this machine was started, with those of its suspensions."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000


def boot_id() -> str | None:
    """Returns the id that this machine got when it was started, None if it has none."""
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return None


class SteadyClock:
    """Reads the database's clock, and corrects it by the steps that it has made.

    This machine's own clock, which nobody sets, shows how much time has passed since the last
    reading. If the database's clock disagrees, it was set: a new era begins, whose offset is
    stored, so that all replicas and later processes show the same time. The time never goes back:
    of two replicas that disagree, the one that is ahead is right, because the other was paused.

    Where the database takes this machine's clock, the last reading is stored, so that a step is
    noticed if it was made while no process ran, too, unless the machine was restarted since.
    """

    def __init__(self, expression: str, is_of_this_machine: bool = False) -> None:
        """`expression` is SQL for the milliseconds since 1970 on the database's clock.

        Args:
            expression: Is of the kind of database.
            is_of_this_machine: Whether the database takes the clock of this machine.
        """
        self.expression = expression
        self.elapsed_ms = elapsed_ms
        self.boot_id = boot_id() if is_of_this_machine else None
        # The time from the last stored reading to this process's first one; None: unknown.
        self.stopped_ms: int | None = None
        self.is_off = False  # the clock was set, and the era of that is not stored yet
        self._lock = threading.Lock()
        self._eras: tuple[Era, ...] = ()
        self._newest = -1  # key of the newest known era; 0: there is none
        self._last: _Reading | None = None

    def read(self, connection: Connection, is_writing: bool) -> int:
        """Returns the time in milliseconds; a writing transaction stores a step that it finds."""
        # The expression is a constant of the kind of database.
        query = f"SELECT {self.expression}, (SELECT MAX(pk) FROM clock_eras)"  # noqa: S608
        before = self.elapsed_ms()
        shown, newest = connection.exec_driver_sql(query).one()
        after = self.elapsed_ms()
        newest = newest or 0
        eras = None
        # A reader may see an earlier state than this process knows already.
        if newest > self._newest or (newest < self._newest and is_writing):
            eras = tuple(Era(*row) for row in connection.execute(_ERAS))
        with self._lock:
            steady, step = self._correct(_Reading(int(shown), before, after), newest, eras)
        if step and is_writing:
            _log.warning("clock_was_set", extra={"seconds": step / 1000})
            values = {"since": steady, "ahead_ms": steady - int(shown), "read_at": steady}
            connection.execute(insert(clock_eras).values({**values, **self._since_boot(after)}))
        return steady

    def remember(self, connection: Connection, now: int) -> None:
        """Stores the time, so that it does not go back while the service is stopped."""
        with self._lock:
            last = self._last
        stored: dict[str, int | str | None] = {"read_at": now}
        if last is not None:
            stored |= self._since_boot(last.after + now - last.steady)
        newest = connection.execute(_NEWEST).scalar_one()
        if newest is None:
            connection.execute(insert(clock_eras).values(since=now, ahead_ms=0, **stored))
        else:
            this = update(clock_eras).where(clock_eras.c.pk == newest, clock_eras.c.read_at < now)
            connection.execute(this.values(stored))

    def _since_boot(self, elapsed: int) -> dict[str, int | str | None]:
        """Returns the columns that let a later process measure the time since then."""
        booted = None if self.boot_id is None else elapsed
        return {"boot_id": self.boot_id, "booted_ms": booted}

    def _stored_reading(self, before: int) -> _Reading | None:
        """Returns the last stored reading, None if this machine was restarted since."""
        if not self._eras or self.boot_id is None:
            return None
        era = self._eras[-1]
        if era.boot_id != self.boot_id or era.booted_ms is None or era.booted_ms > before:
            return None
        return _Reading(era.read_at, era.booted_ms, era.booted_ms)

    def _correct(
        self, reading: _Reading, newest: int, eras: tuple[Era, ...] | None
    ) -> tuple[int, int]:
        """Returns the steady time, and by how much the database's clock was set."""
        if eras is not None:
            self._newest, self._eras = newest, eras
            calendar.set_eras(eras)
        ahead = self._eras[-1].ahead_ms if self._eras else 0
        steady = reading.steady + ahead
        is_newest = eras is None  # else another replica may be ahead
        if self._last is None:
            self._last = self._stored_reading(reading.before)
            is_newest = self._last is not None
            if self._last is not None:
                self.stopped_ms = reading.before - self._last.before
            elif not self._eras:  # a new database has no time before
                self.stopped_ms = 0
        last = self._last
        if last is None:  # a clock that was set back while the service was stopped
            expected = max([steady, *(era.read_at for era in self._eras)])
        else:
            earliest = last.steady + reading.before - last.after
            latest = last.steady + reading.after - last.before
            expected = max(steady, earliest)
            if is_newest:
                expected = min(expected, latest)
        step = steady - expected
        self.is_off = abs(step) > TOLERANCE_MS
        if not self.is_off:
            self._last = _Reading(steady, reading.before, reading.after)
            return steady, 0
        if last is None:
            self._last = _Reading(expected, reading.before, reading.after)
        return expected, step
