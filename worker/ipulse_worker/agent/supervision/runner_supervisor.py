"""Supervision of one runner: start, assignment, stop requests and end."""

from __future__ import annotations

import logging
import time
from dataclasses import replace

from ipulse_core.errors import InvalidSpec
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
from ipulse_core.registry.versions import lower
from ipulse_core.spec.upgrade import spec_key, upgrade
from ipulse_core.states import Phase, Reason
from ipulse_core.worker_faults import WorkerFault, fault_in, fault_of
from ipulse_worker.agent.settings import AgentSettings
from ipulse_worker.agent.supervision.inbox import FinishOrder, Inbox, LeaseLost
from ipulse_worker.agent.supervision.runner_environment import start_environment
from ipulse_worker.agent.supervision.runner_exit import RunnerExit, StopCause
from ipulse_worker.agent.supervision.runner_messages import Ended, RunnerMessage, Violation
from ipulse_worker.agent.supervision.runner_process import RunnerProcess
from ipulse_worker.agent.supervision.startup_watch import StartupWatch
from ipulse_worker.agent.supervision.warm_runner_pool import WarmRunnerPool
from ipulse_worker.agent.uploads.event_reporter import EventReporter
from ipulse_worker.agent.uploads.uploader import Uploader

MESSAGE_CHARACTERS = 4000  # of an outcome; DoneEvent allows a few more
CANNOT_EXECUTE = 127  # the exit code of a shell for a command that does not exist

_log = logging.getLogger(__name__)


class RunnerSupervisor:
    """Supervises the runner of one attempt; call `run` once."""

    def __init__(
        self,
        assignment: Assignment,
        claimed: float,
        settings: AgentSettings,
        inbox: Inbox,
        reporter: EventReporter,
        uploader: Uploader,
        warm: WarmRunnerPool,
        facts: dict[str, str],
    ) -> None:
        self._assignment = assignment
        self._claimed = claimed  # monotonic seconds when the agent got the job
        self._settings = settings
        self._inbox = inbox
        self._reporter = reporter
        self._uploader = uploader
        self._warm = warm
        self._facts = facts  # for the agent's log
        self._done: DoneEvent | None = None
        self._stop: StopCause | None = None
        self._detail = ""
        self._is_finishing = False  # the user wants the results so far
        self._shuts_down = False
        self._is_assigned = False
        self._has_begun = False  # the runner has entered a phase
        self._fault: WorkerFault | None = None

    def run(self) -> RunnerExit:
        """Start a runner and return when it and its descendants have ended.

        Raises the error by which the lease was lost, also only then.
        """
        try:
            spec = upgrade(lower(self._assignment.spec))
        except InvalidSpec as error:
            problems = "; ".join(str(problem) for problem in error.problems)
            message = f"{error.message} {problems}"[:MESSAGE_CHARACTERS]
            self._done = DoneEvent(Reason.RUNNER_ERROR.value, message)
            return self._exit(0)
        # The runner reads the spec in its present form and validates nothing.
        self._assignment = replace(self._assignment, spec=spec, spec_key=spec_key(spec))
        environment = start_environment(spec, self._assignment.work_dir)
        runner = None if environment else self._warm.take()
        if runner:
            _log.info("runner_taken", extra={**self._facts, "pid": runner.pid})
            runner_exit = self._run_to_end(runner)
            if self._has_begun or self._done or self._stop:
                return runner_exit
            # It may have waited for days: its death need not be the fault of this job.
            _log.warning(
                "warm_runner_died", extra={**self._facts, "exit_code": runner_exit.exit_code}
            )
            self._detail = ""
        starting = "starting the runner's process"
        self._reporter.add(ProgressEvent(Phase.PREPARE.value, 0.0, starting))
        try:
            runner = self._warm.start_new(environment)
        except OSError as error:
            self._fault = fault_of(error, self._settings.work_dir)
            python = self._settings.runner_python
            return self._exit(CANNOT_EXECUTE, f"The runner's Python {python}: {error.strerror}.")
        _log.info("runner_started", extra={**self._facts, "pid": runner.pid})
        return self._run_to_end(runner)

    def _run_to_end(self, runner: RunnerProcess) -> RunnerExit:
        try:
            return self._handle_messages(runner)
        finally:
            runner.kill()
            runner.ended.wait()

    def _handle_messages(self, runner: RunnerProcess) -> RunnerExit:
        """Assign the job and handle messages until the runner has ended."""
        self._is_assigned = False  # a runner before this one may have been
        runner.listen(self._on_message)
        self._startup = StartupWatch(runner.pid, self._settings.ready_seconds)
        self._inbox.set_deadline(self._startup.pause)
        while True:
            message = self._inbox.next()
            if isinstance(message, Ended):
                return self._exit(message.exit_code, oom_kills=message.oom_kills)
            if isinstance(message, LeaseLost):
                raise message.why
            if isinstance(message, ReadyEvent):
                self._assign(runner)
            elif isinstance(message, DoneEvent):
                self._done = self._done or message
                self._inbox.set_deadline(self._settings.grace_seconds)
                if self._exit(0).is_complete:  # uploads need not wait for the process to end
                    self._uploader.release_manifest()
            elif isinstance(message, StopCause):
                self._terminate(runner, message)
            elif isinstance(message, FinishOrder):
                self._is_finishing = True
                if self._is_assigned:
                    runner.finish()
            elif isinstance(message, Violation):
                self._abort(runner, StopCause.BROKEN, message.detail)
            elif message is None:
                self._on_deadline(runner)

    def _on_message(self, message: RunnerMessage) -> None:
        """Route one message; called by the thread that reads the runner's pipes."""
        if isinstance(message, (ArtifactEvent, CheckpointEvent)):
            self._uploader.add(message)
        elif isinstance(message, (PhaseEvent, ProgressEvent, MetricEvent, LogEvent)):
            self._reporter.add(message)
            if isinstance(message, LogEvent) and message.stream == "stderr":
                # Counts if the runner dies without an outcome.
                found = fault_in(message.message, self._assignment.work_dir)
                self._fault = found or self._fault
        else:
            if isinstance(message, DoneEvent):
                self._reporter.expect_end()
            self._inbox.put(message)
        if isinstance(message, PhaseEvent):
            self._has_begun = True
            if message.phase == Phase.REPORT.value and self._warm.is_enabled:
                self._warm.prepare()  # training is over, so the import slows nothing down

    def _assign(self, runner: RunnerProcess) -> None:
        if self._stop:
            return
        # A job waits for the runner's start, which its profile shows.
        waited = time.monotonic() - self._claimed
        runner.assign(replace(self._assignment, start_seconds=waited))
        self._is_assigned = True
        if self._is_finishing:  # the signal would end a runner that is not ready
            runner.finish()
        self._inbox.set_deadline(None)  # training has no time limit

    def _terminate(self, runner: RunnerProcess, cause: StopCause) -> None:
        if cause is StopCause.WORKER_STOPPED and self._done:
            self._shuts_down = True
            return  # it has reported its outcome already
        self._stop = max(cause, self._stop or cause)
        runner.terminate()
        self._inbox.set_deadline(self._settings.grace_seconds)

    def _abort(self, runner: RunnerProcess, cause: StopCause, detail: str) -> None:
        self._stop = max(cause, self._stop or cause)
        self._detail = self._detail or detail
        runner.kill()
        self._inbox.set_deadline(None)

    def _on_deadline(self, runner: RunnerProcess) -> None:
        """Wait for a runner that starts slowly; kill one that hangs or has not ended in time."""
        is_starting = not runner.ready.is_set() and not self._stop
        if is_starting and not self._startup.hangs():
            activity = self._startup.report()
            if activity:
                self._reporter.remark(activity)
            self._inbox.set_deadline(self._startup.pause)
            return
        runner.kill()
        self._inbox.set_deadline(None)
        if not is_starting:
            message = (
                f"The runner did not end within {self._settings.grace_seconds:g} s, and was killed."
            )
            self._reporter.remark(message, "warning")
        else:
            self._detail = self._startup.why_killed

    def _exit(self, exit_code: int, detail: str = "", oom_kills: int = 0) -> RunnerExit:
        return RunnerExit(
            done=self._done,
            exit_code=exit_code,
            has_manifest=self._uploader.has_manifest,
            stop=self._stop,
            detail=self._detail or detail,
            oom_kills=oom_kills,
            fault=self._fault,
            shuts_down=self._shuts_down,
        )
