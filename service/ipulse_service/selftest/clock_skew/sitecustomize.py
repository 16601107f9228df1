"""A wrong clock for every Python process that finds this folder on its path.

`time.time` of each process is wrong by another amount, up to ten minutes either way. SQLite's
clock is wrong by the seconds in the file that `IPULSE_SELFTEST_CLOCK` names; the suite changes
them meanwhile. The monotonic clock stays as it is.
"""

import os
import random
import sqlite3
import time
from typing import Any, cast

MOST_SECONDS = 600.0
UNIX_EPOCH_DAYS = 2440587.5  # as a Julian day
DAY_SECONDS = 86400.0


def _shift() -> None:
    offset = random.Random(os.getpid()).uniform(-MOST_SECONDS, MOST_SECONDS)
    seconds, nanoseconds = time.time, time.time_ns
    time.time = lambda: seconds() + offset
    time.time_ns = lambda: nanoseconds() + round(offset * 1e9)


def _shift_sqlite(path: str) -> None:
    seconds, connect = time.time, cast(Any, sqlite3.connect)

    def julianday(moment: str) -> float:
        if moment != "now":
            raise ValueError(moment)
        with open(path) as file:
            return UNIX_EPOCH_DAYS + (seconds() + float(file.read())) / DAY_SECONDS

    def connect_shifted(*arguments: Any, **options: Any) -> Any:
        connection = connect(*arguments, **options)
        connection.create_function("julianday", 1, julianday)
        return connection

    for module in (sqlite3, sqlite3.dbapi2):
        setattr(module, "connect", connect_shifted)  # noqa: B010 - typing knows only the original


if "IPULSE_SELFTEST_CLOCK" in os.environ:
    _shift_sqlite(os.environ["IPULSE_SELFTEST_CLOCK"])
_shift()
