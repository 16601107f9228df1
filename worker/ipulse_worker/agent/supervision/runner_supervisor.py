"""Sees one runner through: start, assignment, orders to stop, end."""

from __future__ import annotations

import logging

from ipulse_core.events import (
    ArtifactEvent,
    Assignment,
    CheckpointEvent,
    DoneEvent,
    LogEvent,
    MetricEvent,
    PhaseEvent,
    ProgressEvent,
    ReadyEvent,
)
from ipulse_core.states import Phase
from ipulse_worker.agent.settings import Settings
from ipulse_worker.agent.supervision.attempt_outcome import Ending, StopCause
from ipulse_worker.agent.supervision.device_environment import assigned_environment
from ipulse_worker.agent.supervision.inbox import Inbox, LeaseLost
from ipulse_worker.agent.supervision.runner_messages import Ended, Message, Violation
from ipulse_worker.agent.supervision.runner_process import RunnerProcess
from ipulse_worker.agent.supervision.warm_runner_pool import WarmRunner
from ipulse_worker.agent.uploads.event_reporter import Reporter
from ipulse_worker.agent.uploads.uploader import Uploader

CANNOT_EXECUTE = 127  # as a shell says it

_log = logging.getLogger(__name__)


class Supervision:
    """Belongs to one attempt; `run` is called once."""

    def __init__(
        self,
        assignment: Assignment,
        settings: Settings,
        inbox: Inbox,
        reporter: Reporter,
        uploader: Uploader,
        warm: WarmRunner,
        facts: dict[str, str],
    ) -> None:
        self._assignment = assignment
        self._settings = settings
        self._inbox = inbox
        self._reporter = reporter
        self._uploader = uploader
        self._warm = warm
        self._facts = facts  # for the agent's log
        self._done: DoneEvent | None = None
        self._stop: StopCause | None = None
        self._detail = ""
        self._has_begun = False  # the runner has said something about the job itself

    def run(self) -> Ending:
        """Returns when the runner and its descendants are gone.

        Raises the reason why the lease is lost, and that also only then.
        """
        environment = assigned_environment(self._assignment)
        runner = None if environment else self._warm.take()
        if runner:
            _log.info("runner_taken", extra={**self._facts, "pid": runner.pid})
            ending = self._see_through(runner)
            if self._has_begun or self._done or self._stop:
                return ending
            # It had been waiting, perhaps for days; what it died of need not be the job.
            _log.warning("warm_runner_died", extra={**self._facts, "exit_code": ending.exit_code})
            self._detail = ""
        try:
            runner = self._warm.fresh(environment)
        except OSError as error:
            python = self._settings.runner_python
            return self._ending(CANNOT_EXECUTE, f"The runner's Python {python}: {error.strerror}.")
        _log.info("runner_started", extra={**self._facts, "pid": runner.pid})
        return self._see_through(runner)

    def _see_through(self, runner: RunnerProcess) -> Ending:
        try:
            return self._converse(runner)
        finally:
            runner.kill()
            runner.ended.wait()

    def _converse(self, runner: RunnerProcess) -> Ending:
        """Gives the runner its assignment, obeys whoever wants it to stop, until it ends."""
        runner.listen(self._hear)
        self._inbox.expect_within(self._settings.ready_seconds)
        while True:
            letter = self._inbox.next()
            if isinstance(letter, Ended):
                return self._ending(letter.exit_code, oom_kills=letter.oom_kills)
            if isinstance(letter, LeaseLost):
                raise letter.why
            if isinstance(letter, ReadyEvent):
                self._assign(runner)
            elif isinstance(letter, DoneEvent):
                self._done = self._done or letter
                self._inbox.expect_within(self._settings.grace_seconds)
                if self._ending(0).is_complete:  # its last words: the files need not await its end
                    self._uploader.release_manifest()
            elif isinstance(letter, StopCause):
                self._terminate(runner, letter)
            elif isinstance(letter, Violation):
                self._give_up(runner, StopCause.BROKEN, letter.detail)
            elif letter is None:
                self._lose_patience(runner)

    def _hear(self, message: Message) -> None:
        """What the runner says, passed on by the thread that reads it."""
        if isinstance(message, (ArtifactEvent, CheckpointEvent)):
            self._uploader.add(message)
        elif isinstance(message, (PhaseEvent, ProgressEvent, MetricEvent, LogEvent)):
            self._reporter.add(message)
        else:
            if isinstance(message, DoneEvent):
                self._reporter.expect_end()
            self._inbox.put(message)
        if isinstance(message, PhaseEvent):
            self._has_begun = True
            if message.phase == Phase.REPORT.value and self._warm.is_enabled:
                self._warm.prepare()  # trained: an import beside the report is in nobody's way

    def _assign(self, runner: RunnerProcess) -> None:
        if self._stop:
            return
        runner.assign(self._assignment)
        self._inbox.expect_within(None)  # training takes as long as it takes

    def _terminate(self, runner: RunnerProcess, cause: StopCause) -> None:
        if cause is StopCause.WORKER_STOPPED and self._done:
            return  # its own verdict came first
        self._stop = max(cause, self._stop or cause)
        runner.terminate()
        self._inbox.expect_within(self._settings.grace_seconds)

    def _give_up(self, runner: RunnerProcess, cause: StopCause, detail: str) -> None:
        self._stop = max(cause, self._stop or cause)
        self._detail = self._detail or detail
        runner.kill()
        self._inbox.expect_within(None)

    def _lose_patience(self, runner: RunnerProcess) -> None:
        """A deadline has passed."""
        runner.kill()
        self._inbox.expect_within(None)
        if runner.ready.is_set() or self._stop:
            message = f"The runner did not end within {self._settings.grace_seconds:g} s: killed."
            self._reporter.add(LogEvent(message=message, level="warning", stream="agent"))
        else:
            limit = self._settings.ready_seconds
            self._detail = (
                f"The runner was not ready within {limit:g} s, and was killed; on a machine "
                "that is so busy IPULSE_READY_SECONDS gives it longer."
            )

    def _ending(self, exit_code: int, detail: str = "", oom_kills: int = 0) -> Ending:
        return Ending(
            done=self._done,
            exit_code=exit_code,
            has_manifest=self._uploader.has_manifest,
            stop=self._stop,
            detail=self._detail or detail,
            oom_kills=oom_kills,
        )
