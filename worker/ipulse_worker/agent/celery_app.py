"""The agent as a Celery worker, and why each setting is what it is."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from typing import Any

from celery import Celery
from celery import signals as celery_signals
from celery.app.amqp import AMQP
from kombu.connection import Connection
from kombu.entity import Exchange, Queue

from ipulse_core import messages
from ipulse_worker.agent.registration.quarantine import Quarantine
from ipulse_worker.agent.settings import AgentSettings
from ipulse_worker.agent.tasks import look_at_job

LONGEST_RECONNECT_SECONDS = 2.0

SETTINGS = {
    # A message is JSON and nothing else: unpickling one would run whatever a sender likes.
    "accept_content": ["json"],
    "task_serializer": "json",
    # The database has the results. A result backend would be a second truth, and a leak.
    "task_ignore_result": True,
    # One attempt at a time, in the main thread. There a new message is looked for as soon as an
    # attempt ends, while a pool's thread would not wake the loop; and a signal interrupts it.
    "worker_pool": "solo",
    "worker_concurrency": 1,
    # No message waits behind a long training while another agent has nothing to do: none is
    # fetched while the main thread works, and one at a time otherwise.
    "worker_prefetch_multiplier": 1,
    # The broker may start after us, and may be away for any time.
    "broker_connection_retry_on_startup": True,
    "broker_connection_max_retries": None,
    # Also where it is there and answers with an error: read-only, out of memory, loading.
    "broker_channel_error_retry": True,
    # Nothing of ours is ever handed out and unacknowledged (see `_queue`), so nothing is handed
    # out twice either. Should another application use this broker, the shortest time counts.
    "broker_transport_options": {"visibility_timeout": 60},
    # Meant for tasks that are acknowledged late. There are none here, and False is deprecated.
    "worker_cancel_long_running_tasks_on_connection_loss": True,
    # Nobody may command this process through the broker, and nobody reads its events.
    "worker_enable_remote_control": False,
    "worker_send_task_events": False,
    # The log is ours (see ipulse.json_log).
    "worker_hijack_root_logger": False,
    "worker_redirect_stdouts": False,
}


class _Connection(Connection):
    """The broker, as an agent must see it that nobody restarts by hand."""

    # What reading something raises that is no message at all. Celery would end over it; as an
    # error of the connection it costs a new connection, and the thing itself is gone by then.
    _NO_MESSAGE = (ValueError, TypeError, LookupError, AttributeError)

    def ensure_connection(self, *args: Any, **options: Any) -> Any:
        """Tries again within seconds. Celery's own pauses grow to half a minute, and every queued
        job would wait for the rest of one when the broker is back."""
        options.update(
            interval_start=0.2, interval_step=0.3, interval_max=LONGEST_RECONNECT_SECONDS
        )
        return super().ensure_connection(*args, **options)  # type: ignore[no-untyped-call]  # kombu's

    @property
    def connection_errors(self) -> tuple[type[Exception], ...]:
        transport = self.get_transport_cls()  # type: ignore[no-untyped-call]  # kombu's
        return (*transport.connection_errors, *self._NO_MESSAGE)


class _AMQP(AMQP):  # type: ignore[misc]  # Celery has no types
    Connection = _Connection


def make_application(settings: AgentSettings, look_at: Callable[[str], None]) -> Celery:
    """A Celery application that knows one task."""
    application = Celery(
        "ipulse.agent", broker=settings.broker_url, amqp=_AMQP, set_as_current=False
    )
    application.conf.update(SETTINGS, task_queues=[_queue(kind) for kind in settings.device_kinds])
    application.finalize(auto=True)
    for name in list(application.tasks):  # Celery's own: chains, groups, maps of other tasks
        del application.tasks[name]
    application.task(look_at_job(look_at), name=messages.TASK, shared=False)
    return application


def _queue(device_kind: str) -> Queue:
    """A queue whose messages are acknowledged by being handed out.

    A message is a wake-up and not the job: whatever becomes of this agent, the service sends
    another while the job waits. An acknowledgement of its own would come too late, because
    Celery leaves it to an event loop that is busy with the attempt by then; and one that failed
    with the broker's connection would count as a message under way for ever, so that no other
    is fetched.
    """
    name = messages.queue_of(device_kind)
    exchange = Exchange(name)  # type: ignore[no-untyped-call]  # kombu's
    return Queue(name, exchange, routing_key=name, no_ack=True)  # type: ignore[no-untyped-call]


def run_worker(
    settings: AgentSettings,
    look_at: Callable[[str], None],
    stop: Callable[[], None],
    quarantine: Quarantine,
) -> int:
    """Consumes until a signal says otherwise; returns the exit code.

    `stop` is called by the signal's handler. Wake-ups for a device that is in quarantine are left
    to other agents.
    """

    def look_and_attend(job_id: str) -> None:
        look_at(job_id)
        attend(application, worker.consumer, settings.device_kinds, quarantine)

    application = make_application(settings, look_and_attend)

    def on_shutdown(**_: Any) -> None:
        stop()

    def on_ready(**_: Any) -> None:
        # Celery would start the program again on a hang-up, without its arguments.
        signal.signal(signal.SIGHUP, signal.getsignal(signal.SIGTERM))
        _say_ready()

    def on_logging(**_: Any) -> None:
        """Having a receiver here keeps Celery from setting logging up its own way."""

    # Weak references would be gone when this function's locals are.
    celery_signals.worker_shutting_down.connect(on_shutdown, weak=False)
    celery_signals.worker_ready.connect(on_ready, weak=False)
    celery_signals.setup_logging.connect(on_logging, weak=False)
    worker = application.Worker(
        hostname=f"agent@{settings.name}",
        quiet=True,
        without_gossip=True,  # agents have nothing to tell each other,
        without_mingle=True,  # and nothing to wait for at the start
        without_heartbeat=True,
    )
    worker.start()
    return int(worker.exitcode or 0)


def attend(
    application: Celery, consumer: Any, kinds: Sequence[str], quarantine: Quarantine
) -> None:
    """Listens on the queues of the devices that may be used, and on no others."""
    usable = quarantine.usable
    for kind in kinds:
        queue = messages.queue_of(kind)
        is_listening = queue in application.amqp.queues.consume_from
        if is_listening and kind not in usable:
            consumer.cancel_task_queue(queue)
        elif not is_listening and kind in usable:
            consumer.add_task_queue(queue)
    if quarantine.seconds_left < float("inf"):
        again = (application, consumer, kinds, quarantine)
        consumer.timer.call_after(quarantine.seconds_left, attend, again)


def _say_ready() -> None:
    """Tells whoever started the agent, on the descriptor that it left open for that."""
    descriptor = os.environ.pop("IPULSE_READY_FD", "")
    if descriptor:
        os.write(int(descriptor), b"ready\n")
        os.close(int(descriptor))
