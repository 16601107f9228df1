"""Sends wake-ups through Celery. The queue is a hint: what it forgets is sent again."""

from __future__ import annotations

import json
import secrets
import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, cast

from celery import Celery
from kombu import serialization
from kombu.exceptions import ChannelError, OperationalError

from ipulse_core import messages
from ipulse_core.errors import Unavailable

TIMEOUT_SECONDS = 2.0  # for each thing asked of the broker; nothing a user asked for waits on it
_DUMPS: Callable[..., tuple[str, str, str]] = serialization.dumps
_NOT_FOUND = "404"


class Queue:
    """The producing end. Not thread-safe: the dispatcher's publishing thread owns it."""

    def __init__(self, broker_url: str) -> None:
        self._celery = _celery(broker_url)
        self._redis: Any = None
        connection = self._celery.connection_for_write()
        self._errors: tuple[type[Exception], ...] = (
            OperationalError,
            OSError,
            *connection.connection_errors,
            *connection.channel_errors,
        )

    def publish(self, job_id: str, device: str) -> None:
        """Raises Unavailable when the broker did not take the message."""
        # A client of our own: what `send_task` does besides, for results, events and retries that
        # nobody here wants, and a new client for each message, take longer than all the rest.
        queue = messages.queue_of(device)
        task = self._celery.amqp.as_task_v2(
            str(uuid.uuid4()), messages.TASK, args=(job_id,), ignore_result=True
        )
        content_type, encoding, body = _DUMPS(task.body, serializer="json")
        try:
            with self._connection() as connection:
                channel = connection.default_channel
                text, body_encoding = channel.encode_body(body, channel.body_encoding)
                properties = {
                    **task.properties,
                    "body_encoding": body_encoding,
                    "delivery_info": {"exchange": "", "routing_key": queue},
                    "delivery_tag": str(uuid.uuid4()),
                    "priority": 0,
                }
                message = channel.prepare_message(
                    text, 0, content_type, encoding, task.headers, properties
                )
                self._client(channel).lpush(queue, json.dumps(message))
        except self._errors as error:
            raise _unavailable(error) from error

    def waiting(self, device: str) -> int:
        """How many messages wait for an agent of this device kind. Raises Unavailable."""
        return self._length(messages.queue_of(device))

    def ping(self) -> None:
        """Returns once a message has gone there and back. Raises Unavailable otherwise."""
        word = secrets.token_hex(8)
        canary = f"ipulse.canary.{word}"
        try:
            with self._connection() as connection:
                # One transaction: whatever fails, and wherever, no canary is left in the broker.
                both = self._client(connection.default_channel).pipeline(transaction=True)
                _, back = both.lpush(canary, word).rpop(canary).execute()
        except self._errors as error:
            raise _unavailable(error) from error
        if back != word.encode():
            raise Unavailable("the broker does not hand out what it was given")

    def close(self) -> None:
        self._celery.close()

    def _client(self, channel: Any) -> Any:
        if self._redis is None or self._redis.connection_pool is not channel.pool:
            self._redis = channel.Client(connection_pool=channel.pool)
        return self._redis

    def _connection(self) -> AbstractContextManager[Any]:
        return cast(
            AbstractContextManager[Any],
            self._celery.pool.acquire(block=True, timeout=TIMEOUT_SECONDS),
        )

    def _length(self, name: str) -> int:
        try:
            with self._connection() as connection:
                declared = connection.default_channel.queue_declare(name, passive=True)
                return int(declared.message_count)
        except ChannelError as error:
            if str(error.reply_code) == _NOT_FOUND:  # in Redis an empty queue does not exist
                return 0
            raise _unavailable(error) from error
        except self._errors as error:
            raise _unavailable(error) from error


def _unavailable(error: Exception) -> Unavailable:
    return Unavailable(f"the broker does not answer: {error}")


def _celery(broker_url: str) -> Celery:
    celery = Celery("ipulse", broker=broker_url, set_as_current=False)
    celery.conf.update(
        task_serializer="json",
        accept_content=["json"],
        task_ignore_result=True,  # results live in the database
        broker_connection_timeout=TIMEOUT_SECONDS,
        broker_transport_options={
            "socket_connect_timeout": TIMEOUT_SECONDS,
            "socket_timeout": TIMEOUT_SECONDS,
            # One try each: the dispatcher tries again by its own clock.
            "max_retries": 0,
        },
    )
    return celery
