"""What may stand in the queue beside the service's own words, and in which order."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from random import Random

from ipulse_core import messages
from ipulse_service.selftest.fault_outcome import FaultOutcome
from ipulse_service.selftest.testbed import Testbed, milliseconds

ROUNDS = 5
MOST_MESSAGES = 4  # each is a claim that is refused, which takes its time too
PAUSE_SECONDS = 0.2
LARGE_BYTES = 2**20


def duplicate(testbed: Testbed, random: Random) -> Iterator[FaultOutcome]:
    """Every message that waits is there ten times."""
    queue = messages.queue_of("cpu")
    for _ in range(ROUNDS):
        found = sorted(set(testbed.broker.messages(queue)))[:MOST_MESSAGES]
        testbed.broker.push(queue, found * 9)
        yield FaultOutcome("messages duplicated", milliseconds())
        time.sleep(PAUSE_SECONDS)


def reorder(testbed: Testbed, random: Random) -> Iterator[FaultOutcome]:
    """The messages that wait change places."""
    queue = messages.queue_of("cpu")
    for _ in range(ROUNDS):
        found = testbed.broker.messages(queue)
        random.shuffle(found)
        # One that is sent or fetched between the two is lost or doubled, as may happen too.
        testbed.broker.replace(queue, found)
        yield FaultOutcome("messages reordered", milliseconds())
        time.sleep(PAUSE_SECONDS)


def foreign(testbed: Testbed, random: Random) -> Iterator[FaultOutcome]:
    """Other tasks, jobs that nobody knows, a large one, and what is no message at all."""
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
    """As Celery writes one, in its second protocol, but for what nobody reads."""
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
