"""One runner prepared ahead of its job, so that the job does not wait for TensorFlow's import."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress

from ipulse_worker.agent.supervision.runner_process import RunnerProcess

_log = logging.getLogger(__name__)


class WarmRunner:
    """Holds at most one waiting runner; where none is to be warm, one that is not started yet.

    A replacement is started when `prepare` is called: not when the runner is taken, because the
    import would compete with the start of the very job it was taken for, and then with its
    training, and only the next job needs it. It is not started at a lower priority either:
    without privileges that could not be raised again for the training. One that is not started
    is nothing but a guardian, and is there again while the one before it starts.
    """

    def __init__(self, make: Callable[[], RunnerProcess], is_enabled: bool) -> None:
        self._make = make
        self.is_enabled = is_enabled
        self._change = threading.Condition()
        self._waiting: RunnerProcess | None = None
        self._is_preparing = False
        self._is_closed = False

    def prepare(self) -> None:
        """Sees to it, in the background, that a runner waits."""
        with self._change:
            if self._waiting or self._is_preparing or self._is_closed:
                return
            self._is_preparing = True
        threading.Thread(target=self._prepare, name="warm-runner", daemon=True).start()

    def take(self) -> RunnerProcess | None:
        """The waiting runner, whether or not its import is done; None if there is none alive."""
        runner = self._take_waiting() if self.is_enabled else None
        if runner and runner.ended.is_set():
            _log.warning(
                "warm_runner_died", extra={"pid": runner.pid, "output": runner.last_words()}
            )
            return None
        return runner

    def fresh(self, environment: Mapping[str, str]) -> RunnerProcess:
        """One that has not waited. Raises OSError if the interpreter cannot be started."""
        runner = None if self.is_enabled else self._take_waiting()
        if runner:
            with suppress(OSError):  # what guards it may have died meanwhile: another would say so
                runner.start(environment)
                self.prepare()
                return runner
        runner = self._make()
        runner.start(environment)
        return runner

    def close(self) -> None:
        """Ends the waiting runner; none is started any more."""
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
        except OSError as error:  # a job's own start will say it to the user
            runner = None
            _log.error("warm_runner_not_started", extra={"why": str(error)})
        with self._change:
            self._waiting = runner
            self._is_preparing = False
            self._change.notify_all()
