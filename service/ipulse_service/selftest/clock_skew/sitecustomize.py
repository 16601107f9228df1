"""A wrong clock for every Python process that finds this folder on its path.

Each is wrong by another amount, up to ten minutes either way. The database's clock and the
monotonic one stay as they are: nothing else may decide anything.
"""

import os
import random
import time

MOST_SECONDS = 600.0


def _shift() -> None:
    offset = random.Random(os.getpid()).uniform(-MOST_SECONDS, MOST_SECONDS)
    seconds, nanoseconds = time.time, time.time_ns
    time.time = lambda: seconds() + offset
    time.time_ns = lambda: nanoseconds() + round(offset * 1e9)


_shift()
