"""The agent's extensions of Celery: a request check and a bootstep."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from celery import Task, bootsteps
from celery.exceptions import InvalidTaskError
from celery.worker import state
from celery.worker.request import Request


class CheckedRequest(Request):  # type: ignore[misc]  # Celery has no types
    """A request for a wake-up, which has neither callbacks nor a chain."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        # Celery would raise outside of the task, count it as running for ever, and fetch no other.
        kinds = [type(part) for part in self._payload]
        if kinds != [list, dict, dict] or any(self._payload[2].values()):
            raise InvalidTaskError("the message is not [arguments, keywords, no callbacks]")


class WakeUpTask(Task):  # type: ignore[misc]  # Celery has no types
    """The base class of the agent's only task."""

    Request = CheckedRequest


def consumer_step(on_start: Callable[[Any], None]) -> type[Any]:
    """Returns a bootstep that runs whenever the worker has connected to the broker.

    `on_start` is called with the consumer.
    """

    class ConsumerStep(bootsteps.StartStopStep):  # type: ignore[misc]  # Celery has no types
        requires = ("celery.worker.consumer.tasks:Tasks",)

        def start(self, consumer: Any) -> None:
            # A lost connection makes Celery forget which tasks run. The one that runs must still
            # keep it from fetching another.
            for request in state.active_requests:
                state.reserved_requests.add(request)
            on_start(consumer)

    return ConsumerStep
