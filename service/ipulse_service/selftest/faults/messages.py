"""Duplicated, reordered and foreign messages in the queue."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from random import Random

from ipulse_core import messages
from ipulse_service.selftest.fault_outcome import FaultOutcome
from ipulse_service.selftest.testbed import Testbed, milliseconds

ROUNDS = 5
MAX_MESSAGES = 4  # each causes a claim that is refused, which takes time
PAUSE_SECONDS = 0.2
LARGE_BYTES = 2**20


def duplicate(testbed: Testbed, random: Random) -> Iterator[FaultOutcome]:
    """Sends every waiting message ten times."""
    queue = messages.queue_of("cpu")
    for _ in range(ROUNDS):
        found = sorted(set(testbed.broker.messages(queue)))[:MAX_MESSAGES]
        testbed.broker.push(queue, found * 9)
        yield FaultOutcome("messages duplicated", milliseconds())
        time.sleep(PAUSE_SECONDS)


def reorder(testbed: Testbed, random: Random) -> Iterator[FaultOutcome]:
    """Shuffles the waiting messages."""
    queue = messages.queue_of("cpu")
    for _ in range(ROUNDS):
        found = testbed.broker.messages(queue)
        random.shuffle(found)
        # A message that is sent or fetched meanwhile is lost or duplicated, which may happen too.
        testbed.broker.replace(queue, found)
        yield FaultOutcome("messages reordered", milliseconds())
        time.sleep(PAUSE_SECONDS)


def foreign(testbed: Testbed, random: Random) -> Iterator[FaultOutcome]:
    """Sends other tasks, unknown jobs, a large message, and bytes that are no message."""
    queue = messages.queue_of("cpu")
    for _ in range(ROUNDS):
        testbed.broker.push(queue, _strange(random))
        yield FaultOutcome("messages of others", milliseconds())
        time.sleep(PAUSE_SECONDS)


def _strange(random: Random) -> list[bytes]:
    return [
        b"\x80\x04 no JSON",
        b"[]",
        b'{"no": "message"}',
        json.dumps(_message("os.system", ["reboot"])).encode(),
        json.dumps(_message(messages.TASK, [f"job_{random.getrandbits(96):024x}"])).encode(),
        json.dumps(_message(messages.TASK, [{"job": 1}, None])).encode(),
        json.dumps(_message(messages.TASK, ["x" * LARGE_BYTES])).encode(),
    ]


def _message(task: str, arguments: list[object]) -> object:
    """Returns a message in Celery's protocol 2, with the fields that are read."""
    body = json.dumps([arguments, {}, {"callbacks": None, "errbacks": None}])
    return {
        "body": body,
        "content-encoding": "utf-8",
        "content-type": "application/json",
        "headers": {"lang": "py", "task": task, "id": "foreign", "root_id": "foreign"},
        "properties": {
            "correlation_id": "foreign",
            "delivery_mode": 2,
            "delivery_info": {"exchange": "", "routing_key": messages.queue_of("cpu")},
            "priority": 0,
            "delivery_tag": "foreign",
        },
    }
