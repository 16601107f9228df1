"""The work of a benchmark's job, which records when it began and ended.

    python -m benchmarks.service.payload ORDER_AS_JSON

A timestamp is one line of a file: `TAG EVENT SECONDS PID`, with seconds of the monotonic clock.
The module imports little, because a job begins only after its imports.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import NamedTuple


class Order(NamedTuple):
    """The work of one job: nothing, or sleep."""

    sleep_seconds: float = 0.0
    tag: str = ""
    timestamps: str = ""  # the file that receives them; none if empty
    inline: bool = True  # a function in the worker where the service supports it, else a process

    def to_json(self) -> str:
        """Return the order as one JSON object."""
        return json.dumps(self._asdict())

    @staticmethod
    def from_json(text: str) -> Order:
        """Return the order of a JSON object."""
        return Order(**json.loads(text))


NOTHING = Order()  # the order of a job that does nothing


class Timestamp(NamedTuple):
    """One line of the file."""

    event: str
    seconds: float
    pid: int


def carry_out(order: Order) -> None:
    """Do the work of an order."""
    stamp(order, "begin")
    time.sleep(order.sleep_seconds)
    stamp(order, "end")


def stamp(order: Order, event: str) -> None:
    """Append a timestamp, if the order names a file."""
    if not order.timestamps:
        return
    descriptor = os.open(order.timestamps, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    os.write(descriptor, f"{order.tag} {event} {time.monotonic():.6f} {os.getpid()}\n".encode())
    os.close(descriptor)


def timestamps(order: Order) -> list[Timestamp]:
    """Return the timestamps of an order so far."""
    if not os.path.exists(order.timestamps):
        return []
    with open(order.timestamps) as file:
        lines = [line.split() for line in file]
    return [
        Timestamp(event, float(seconds), int(pid))
        for tag, event, seconds, pid in lines
        if tag == order.tag
    ]


if __name__ == "__main__":
    carry_out(Order.from_json(sys.argv[1]))
