"""Sends wake-ups to agents through Celery, one queue for each device kind.

A wake-up is a hint that carries a job id. The database decides who runs the job, and a wake-up
that the broker loses is sent again.
"""

from __future__ import annotations

from typing import Any

from celery import Celery
from kombu.entity import Exchange, Queue
from kombu.exceptions import ChannelError, OperationalError

from ipulse_core import messages
from ipulse_core.errors import Unavailable

TIMEOUT_SECONDS = 6.0  # for each answer of the broker; no user's request waits for it
_NOT_FOUND = "404"


class WakeUpQueue:
    """The sending end of the queues. Not thread-safe: one thread of the publisher uses it."""

    def __init__(self, broker_url: str) -> None:
        self._celery = _celery(broker_url)
        connection = self._celery.connection_for_write()
        self._errors: tuple[type[Exception], ...] = (
            OperationalError,
            OSError,
            *connection.connection_errors,
            *connection.channel_errors,
        )

    def send(self, job_id: str, device: str) -> None:
        """Sends a wake-up. Raises Unavailable when the broker did not accept it."""
        try:
            self._celery.send_task(
                messages.TASK,
                args=(job_id,),
                queue=messages.queue_of(device),
                ignore_result=True,
                declare=(),  # the queue needs none, and each would cost a round trip
                retry=False,  # the publisher tries again itself
            )
        except self._errors as error:
            raise _unavailable(error) from error

    def waiting(self, device: str) -> int:
        """Counts the wake-ups that no agent has fetched yet. Raises Unavailable."""
        try:
            with self._celery.connection_or_acquire() as connection:
                declared = _queue(device)(connection.default_channel).queue_declare(passive=True)
                return int(declared.message_count)
        except ChannelError as error:
            if str(error.reply_code) == _NOT_FOUND:  # Redis deletes a list that is empty
                return 0
            raise _unavailable(error) from error
        except self._errors as error:
            raise _unavailable(error) from error

    def check_writable(self) -> None:
        """Raises Unavailable unless the broker accepts writes.

        It declares a queue, which writes to Redis and leaves no message: a server that is full or
        read-only refuses that.
        """
        try:
            with self._celery.connection_or_acquire() as connection:
                _queue("cpu")(connection.default_channel).declare()
        except self._errors as error:
            raise _unavailable(error) from error

    def close(self) -> None:
        """Closes the connections to the broker."""
        self._celery.close()


def _queue(device: str) -> Any:  # kombu has no types
    name = messages.queue_of(device)
    return Queue(name, Exchange(name), routing_key=name)  # type: ignore[no-untyped-call]


def _unavailable(error: Exception) -> Unavailable:
    return Unavailable(f"the broker does not answer: {error}")


def _celery(broker_url: str) -> Celery:
    celery = Celery("ipulse", broker=broker_url, set_as_current=False)
    celery.conf.update(
        task_serializer="json",
        accept_content=["json"],
        task_ignore_result=True,  # results are stored in the database
        broker_connection_timeout=TIMEOUT_SECONDS,
        broker_transport_options={
            "socket_connect_timeout": TIMEOUT_SECONDS,
            "socket_timeout": TIMEOUT_SECONDS,
            "max_retries": 0,  # the publisher tries again itself
        },
    )
    return celery
