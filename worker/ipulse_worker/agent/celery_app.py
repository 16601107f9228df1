"""The agent as a Celery worker, and the reason for each of its settings.

`celery -A ipulse_worker.agent.celery_app inspect active` reads the broker from IPULSE_BROKER_URL,
and so does Flower.
"""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable, Sequence
from typing import Any

from celery import Celery, Task, bootsteps
from celery import signals as celery_signals
from celery.app.amqp import AMQP
from celery.exceptions import InvalidTaskError
from celery.worker import state
from celery.worker.request import Request
from kombu.connection import Connection
from kombu.entity import Exchange, Queue

from ipulse_core import messages
from ipulse_core.messages import ID
from ipulse_worker.agent.readiness import say_ready
from ipulse_worker.agent.registration.host_check import CHECK_SECONDS
from ipulse_worker.agent.registration.quarantine import Quarantine
from ipulse_worker.agent.settings import AgentSettings

MAX_RECONNECT_SECONDS = 2.0
_log = logging.getLogger(__name__)

HEARTBEAT_SECONDS = 30.0  # between two events that show Flower that the agent is online

SETTINGS = {
    # A message is JSON and nothing else: unpickling one would run any code that its sender likes.
    "accept_content": ["json"],
    "task_serializer": "json",
    # Results are in the database; a result backend would be a second copy.
    "task_ignore_result": True,
    # One attempt at a time, in a thread: the main thread's event loop meanwhile answers
    # `celery inspect` and reconnects to the broker.
    "worker_pool": "threads",
    "worker_concurrency": 1,
    # While an attempt runs, no message is fetched: another agent may be idle.
    "worker_disable_prefetch": True,
    "worker_prefetch_multiplier": 1,
    # The broker may start after the agent, and may be away for any time.
    "broker_connection_retry_on_startup": True,
    "broker_connection_max_retries": None,
    # Also when it answers with an error: read-only, out of memory, loading.
    "broker_channel_error_retry": True,
    # Concerns tasks that are acknowledged late. There are none, and False is deprecated.
    "worker_cancel_long_running_tasks_on_connection_loss": True,
    # For `celery inspect` and Flower. Whoever can write to the broker can stop agents: keep it
    # private.
    "worker_enable_remote_control": True,
    "worker_send_task_events": True,
    # The agent configures its own log (see ipulse.json_log).
    "worker_hijack_root_logger": False,
    "worker_redirect_stdouts": False,
}


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


class _Connection(Connection):
    """A connection to the broker for a process that nobody restarts by hand."""

    # Errors of reading what is no message. Celery would exit; as errors of the connection they
    # cost a new connection, and the offending bytes are gone by then.
    _NO_MESSAGE = (
        ValueError,
        TypeError,
        LookupError,
        AttributeError,
        ArithmeticError,
        RecursionError,
    )

    def ensure_connection(self, *args: Any, **options: Any) -> Any:
        """Retries within seconds; Celery's own pauses, up to 30 s, would delay queued jobs."""
        options.update(interval_start=0.2, interval_step=0.3, interval_max=MAX_RECONNECT_SECONDS)
        return super().ensure_connection(*args, **options)  # type: ignore[no-untyped-call]  # kombu's

    @property
    def connection_errors(self) -> tuple[type[Exception], ...]:
        """The errors after which Celery reconnects."""
        transport = self.get_transport_cls()  # type: ignore[no-untyped-call]  # kombu's
        return (*transport.connection_errors, *self._NO_MESSAGE)


class _AMQP(AMQP):  # type: ignore[misc]  # Celery has no types
    Connection = _Connection


def make_application(broker_url: str | None, device_kinds: Sequence[str] = ()) -> Celery:
    """Returns a Celery application without tasks that consumes the queues of these device kinds."""
    application = Celery("ipulse.agent", broker=broker_url, amqp=_AMQP, set_as_current=False)
    application.conf.update(SETTINGS, task_queues=[_queue(kind) for kind in device_kinds])
    application.finalize(auto=True)
    for name in list(application.tasks):  # Celery's own: chains, groups, maps of other tasks
        del application.tasks[name]
    return application


def _queue(device_kind: str) -> Queue:
    """Returns a queue that acknowledges messages when they are handed out.

    A message is a hint: if this agent dies, the service sends another while the job waits. Late
    acknowledgement would gain nothing and could fail with the broker's connection.
    """
    name = messages.queue_of(device_kind)
    exchange = Exchange(name)  # type: ignore[no-untyped-call]  # kombu's
    return Queue(name, exchange, routing_key=name, no_ack=True)  # type: ignore[no-untyped-call]  # kombu's


def run_worker(
    settings: AgentSettings,
    look_at: Callable[[str], object],
    stop: Callable[[], None],
    quarantine: Quarantine,
) -> int:
    """Consumes until a signal asks it to stop. Returns the exit code.

    A signal handler calls `stop`. Wake-ups for a device in quarantine are left to other agents.
    """
    application = make_application(settings.broker_url, settings.device_kinds)

    def choose_queues(consumer: Any) -> None:
        consume_usable(application, consumer, settings.device_kinds, quarantine)

    def keep_choosing(consumer: Any) -> None:
        choose_queues(consumer)
        # A quarantine ends, a disk fills up or is emptied. Celery clears its timer with each
        # connection.
        consumer.timer.call_repeatedly(CHECK_SECONDS, choose_queues, (consumer,))

    def look_and_choose(job_id: str) -> None:
        look_at(job_id)
        worker.consumer.call_soon(choose_queues, worker.consumer)  # in the main thread

    application.task(
        look_at_job(look_and_choose), name=messages.TASK, shared=False, base=WakeUpTask
    )
    application.steps["consumer"].add(consumer_step(keep_choosing))

    def on_shutdown(**_: Any) -> None:
        stop()

    on_hang_up = signal.getsignal(signal.SIGHUP)  # ignored under nohup

    def on_ready(**_: Any) -> None:
        # Celery would restart the program on a hang-up, without its arguments.
        handler = on_hang_up if on_hang_up is signal.SIG_IGN else signal.getsignal(signal.SIGTERM)
        signal.signal(signal.SIGHUP, handler)
        say_ready()

    def on_logging(**_: Any) -> None:
        """A receiver of this signal keeps Celery from configuring the log."""

    # Weak references would be gone when this function's locals are.
    celery_signals.worker_shutting_down.connect(on_shutdown, weak=False)
    celery_signals.worker_ready.connect(on_ready, weak=False)
    celery_signals.setup_logging.connect(on_logging, weak=False)
    worker = application.Worker(
        hostname=f"agent@{settings.name}",
        quiet=True,
        without_gossip=True,  # agents have nothing to say to each other
        without_mingle=True,
        heartbeat_interval=HEARTBEAT_SECONDS,
    )
    worker.start()
    return int(worker.exitcode or 0)


def consume_usable(
    application: Celery, consumer: Any, kinds: Sequence[str], quarantine: Quarantine
) -> None:
    """Consumes the queues of the devices that may be used, and no others."""
    usable = quarantine.usable
    for kind in kinds:
        queue = messages.queue_of(kind)
        is_consumed = queue in application.amqp.queues.consume_from
        if is_consumed and kind not in usable:
            consumer.cancel_task_queue(queue)
            _log.warning("queue_left_to_others", extra={"queue": queue})
        elif not is_consumed and kind in usable:
            consumer.add_task_queue(queue)
            _log.info("queue_consumed", extra={"queue": queue})


app = make_application(os.environ.get("IPULSE_BROKER_URL"))  # for the `celery` command and Flower


def look_at_job(look_at: Callable[[str], None]) -> Callable[..., None]:
    """Returns the task's function, which drops a message that is not exactly one job id."""

    def task(*args: Any, **kwargs: Any) -> None:
        if kwargs or len(args) != 1 or not isinstance(args[0], str) or not ID.fullmatch(args[0]):
            _log.warning("message_rejected", extra={"arguments": repr((args, kwargs))[:200]})
            return
        look_at(args[0])

    return task
