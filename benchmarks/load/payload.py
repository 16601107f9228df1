"""What a job of every side does; it says by itself when it began and when it ended.

    python -m benchmarks.load.payload ORDER_AS_JSON

A mark is one line of a file: `TAG WORD SECONDS PID`, the seconds on the machine's monotonic clock.
Little is imported here: a job has not begun before that, and it is no doing of the service.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

LINE = "line {:06d}: epoch 12, loss 0.3456, accuracy 0.9876, as long as such lines are"


class Order(NamedTuple):
    """One job's. Without `marks` it tells nobody."""

    kind: str = "noop"  # or lines, sleep
    number: int = 0  # of lines, or of seconds
    tag: str = ""
    marks: str = ""
    is_inline: bool = True  # where the service can: a function in its worker, else a process

    def to_json(self) -> str:
        return json.dumps(self._asdict())

    @staticmethod
    def from_json(text: str) -> Order:
        return Order(**json.loads(text))


def carry_out(order: Order, say: Callable[[str], object] = print) -> None:
    mark(order, "first")
    if order.kind == "lines":
        for number in range(order.number):
            say(LINE.format(number))
    elif order.kind == "sleep":
        time.sleep(order.number)
    sys.stdout.flush()
    mark(order, "last")


def mark(order: Order, word: str) -> None:
    if not order.marks:
        return
    descriptor = os.open(order.marks, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    os.write(descriptor, f"{order.tag} {word} {time.monotonic():.6f} {os.getpid()}\n".encode())
    os.close(descriptor)


if __name__ == "__main__":
    carry_out(Order.from_json(sys.argv[1]))
