"""A runner that is started before its job, so that no job waits for TensorFlow's import."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress

from ipulse_worker.agent.supervision.runner_process import RunnerProcess

_log = logging.getLogger(__name__)


class WarmRunnerPool:
    """Keeps at most one waiting runner; if warm runners are disabled, only its guardian.

    `prepare` starts a replacement. It is not started when a runner is taken: the import would
    compete with the job that the runner was taken for. It does not start at a lower priority
    either: an unprivileged process could not raise its priority again for the training.
    """

    def __init__(self, make: Callable[[], RunnerProcess], is_enabled: bool) -> None:
        self._make = make
        self.is_enabled = is_enabled
        self._change = threading.Condition()
        self._waiting: RunnerProcess | None = None
        self._is_preparing = False
        self._is_closed = False

    def prepare(self) -> None:
        """Start a waiting runner in the background, unless there is one."""
        with self._change:
            if self._waiting or self._is_preparing or self._is_closed:
                return
            self._is_preparing = True
        try:
            threading.Thread(target=self._prepare, name="warm-runner", daemon=True).start()
        except RuntimeError as error:  # no thread can be started: the next job reports it
            with self._change:
                self._is_preparing = False
            _log.error("warm_runner_not_started", extra={"why": str(error)})

    def take(self) -> RunnerProcess | None:
        """Return the waiting runner, also before its import is done; None if none is alive."""
        runner = self._take_waiting() if self.is_enabled else None
        if runner and runner.ended.is_set():
            _log.warning(
                "warm_runner_died", extra={"pid": runner.pid, "output": runner.undelivered_output()}
            )
            return None
        return runner

    def start_new(self, environment: Mapping[str, str]) -> RunnerProcess:
        """Start a runner that has not waited. Raises OSError if the interpreter cannot start."""
        runner = None if self.is_enabled else self._take_waiting()
        if runner:
            with suppress(OSError):  # its guardian may have died: start another
                runner.start(environment)
                self.prepare()
                return runner
        runner = self._make()
        runner.start(environment)
        return runner

    def close(self) -> None:
        """End the waiting runner and start no other."""
        with self._change:
            self._is_closed = True
        runner = self._take_waiting()
        if runner and self.is_enabled:
            runner.kill()
            runner.ended.wait()
        elif runner:
            runner.dismiss()

    def _take_waiting(self) -> RunnerProcess | None:
        with self._change:
            self._change.wait_for(lambda: not self._is_preparing)  # milliseconds: see _prepare
            runner, self._waiting = self._waiting, None
        return runner

    def _prepare(self) -> None:
        runner: RunnerProcess | None = None
        try:
            runner = self._make()
            if self.is_enabled:
                runner.start({})
        except OSError as error:  # the next job reports the same error to its user
            runner = None
            _log.error("warm_runner_not_started", extra={"why": str(error)})
        with self._change:
            self._waiting = runner
            self._is_preparing = False
            self._change.notify_all()
