"""Waits for work by long polling over HTTPS, for an agent that reaches no broker."""

from __future__ import annotations

import logging
import os
import random
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType

from ipulse.stack.agent_process import EXIT_REFUSED
from ipulse_core.errors import IPUlseError, NotAuthenticated
from ipulse_core.repeating_thread import RepeatingThread
from ipulse_worker.agent.agent import Agent
from ipulse_worker.agent.readiness import say_ready
from ipulse_worker.agent.service_responses import ServiceUnavailable, SessionRefused
from ipulse_worker.agent.service_types import AgentHint

LONGEST_WAIT, SHORTEST_WAIT = 50.0, 5.0  # seconds that the service holds a request back
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0  # after a request that failed; each is twice the last
JITTER = 0.1  # share of a wait or pause that is random, so that agents spread their requests
EXIT_OK, EXIT_FAILED = 0, 1

_log = logging.getLogger(__name__)


class WorkPoller:
    """A thread that asks the service for work and runs what it finds, one job after another.

    A hint that is lost costs at most one wait: at the end of each, the agent tries to claim the job
    that it knows of.
    """

    def __init__(self, agent: Agent, on_end: Callable[[], None] = lambda: None) -> None:
        """Prepare the thread; it calls `on_end` once `exit_code` is final."""
        self._agent = agent
        self.exit_code = EXIT_OK
        self._thread = RepeatingThread(
            "polling", self._turn, retry_seconds=None, is_daemon=True, on_end=on_end
        )
        self._running = threading.Lock()  # held while a job runs
        self._wait_seconds = LONGEST_WAIT
        self._pause_seconds = FIRST_PAUSE
        self._hint: AgentHint | None = None  # the latest; its job is not claimed
        self._is_ready = False

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Begin no other job, and return once the present one has ended."""
        self._thread.end()
        with self._running:
            pass

    def _turn(self) -> float | None:
        self.exit_code = EXIT_FAILED
        try:
            pause = self._poll()
        except (SessionRefused, NotAuthenticated) as error:
            _log.error("agent_refused", extra={"why": error.message})
            self.exit_code = EXIT_REFUSED
            return None
        self.exit_code = EXIT_OK
        return pause

    def _poll(self) -> float:
        """Ask once, and run what is found; return the seconds until the next request."""
        began = time.monotonic()
        tag = self._hint.tag if self._hint else ""
        try:
            hint = self._agent.wait_for_work(tag, round(_jittered(self._wait_seconds)))
        except (SessionRefused, NotAuthenticated):
            raise
        except IPUlseError as error:
            return self._pause_after(error, time.monotonic() - began)
        self._pause_seconds = FIRST_PAUSE
        if not self._is_ready:
            self._is_ready = True
            say_ready()
        if hint is not None:
            self._hint = hint
        elif time.monotonic() - began < FIRST_PAUSE:  # something on the way does not wait
            self._thread.sleep(_jittered(FIRST_PAUSE))
        job_id = self._hint.job_id if self._hint else None
        if job_id is not None and self._agent.quarantine.usable:
            with self._running:
                if not self._thread.is_stopping and self._agent.run_job(job_id):
                    self._hint = None
        return 0.0

    def _pause_after(self, error: IPUlseError, seconds: float) -> float:
        if seconds > FIRST_PAUSE:
            # A proxy may end requests that are silent for long, so that shorter waits succeed.
            self._wait_seconds = max(SHORTEST_WAIT, self._wait_seconds / 2)
        if self._pause_seconds == FIRST_PAUSE and not self._thread.is_stopping:
            _log.warning("service_does_not_answer", extra={"why": error.message})
        asked = error.retry_after if isinstance(error, ServiceUnavailable) else 0.0
        pause = _jittered(min(max(self._pause_seconds, asked), LONGEST_PAUSE))
        self._pause_seconds = min(2 * self._pause_seconds, LONGEST_PAUSE)
        return pause


def poll_for_work(agent: Agent) -> int:
    """Run the agent's jobs until a signal stops it. Returns the exit code."""
    wake, write = os.pipe()

    def on_signal(number: int, frame: FrameType | None) -> None:
        os.write(write, b"s")

    def on_end() -> None:
        os.write(write, b"e")

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:  # nohup
            signal.signal(number, on_signal)
    poller = WorkPoller(agent, on_end)
    poller.start()
    has_ended = os.read(wake, 1) == b"e"
    agent.stop()
    poller.stop()
    return poller.exit_code if has_ended else EXIT_OK


def _jittered(seconds: float) -> float:
    return seconds * (1 - JITTER * random.random())
