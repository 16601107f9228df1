"""Wakes Celery's event loop when an attempt ends, so that the next wake-up is fetched at once."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from celery import Task, bootsteps
from celery.exceptions import InvalidTaskError
from celery.worker import state
from celery.worker.request import Request


class EventLoopWaker:
    """Lets the thread that ran an attempt wake the loop in the main thread."""

    def __init__(self) -> None:
        self._descriptor = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)

    def wake(self) -> None:
        """Makes the loop run once; any thread may call it."""
        os.eventfd_write(self._descriptor, 1)

    def attach(self, hub: Any) -> None:
        """Has an event loop watch for calls of `wake`."""
        hub.add_reader(self._descriptor, self._drain)

    def _drain(self) -> None:
        with suppress(BlockingIOError):
            os.eventfd_read(self._descriptor)


def task_base(waker: EventLoopWaker) -> type[Any]:
    """Returns a base class for tasks that wake the loop when they have ended."""

    class WakingRequest(Request):  # type: ignore[misc]  # Celery has no types
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            # Celery would raise outside of the task, count it as running for ever, and fetch no
            # other. A wake-up has neither callbacks nor a chain.
            kinds = [type(part) for part in self._payload]
            if kinds != [list, dict, dict] or any(self._payload[2].values()):
                raise InvalidTaskError("the message is not [arguments, keywords, no callbacks]")

        def on_success(self, *args: Any, **options: Any) -> Any:
            try:
                return super().on_success(*args, **options)
            finally:
                waker.wake()

    class WakingTask(Task):  # type: ignore[misc]
        Request = WakingRequest

    return WakingTask


def consumer_step(waker: EventLoopWaker, on_start: Callable[[Any], None]) -> type[Any]:
    """Returns a bootstep that runs whenever the worker has connected to the broker.

    `on_start` is called with the consumer.
    """

    class LoopStep(bootsteps.StartStopStep):  # type: ignore[misc]
        requires = ("celery.worker.consumer.tasks:Tasks",)

        def start(self, consumer: Any) -> None:
            # A lost connection makes Celery forget which tasks run. The one that runs must still
            # keep it from fetching another.
            for request in state.active_requests:
                state.reserved_requests.add(request)
            waker.attach(consumer.hub)
            on_start(consumer)

    return LoopStep
