"""Who computes where: the clients on one processor, the services on all of them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

_ALL = os.sched_getaffinity(0)  # read before anybody is pinned


def pin_clients() -> None:
    """The calling thread stays on one processor from now on."""
    os.sched_setaffinity(0, {max(_ALL)})


@contextlib.contextmanager
def all_of_them() -> Iterator[None]:
    """What is started meanwhile may run anywhere: a child has its parent's processors."""
    mine = os.sched_getaffinity(0)
    os.sched_setaffinity(0, _ALL)
    try:
        yield
    finally:
        os.sched_setaffinity(0, mine)
