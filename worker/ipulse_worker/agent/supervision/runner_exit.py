"""The end of a runner, and the attempt outcome that the agent derives from it."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from ipulse_core.attempt_outcome import AttemptOutcome
from ipulse_core.events import DoneEvent
from ipulse_core.states import COMPLETE, Reason
from ipulse_core.worker_faults import WorkerFault

# Reasons that only an agent or the service can know, so that a runner may not report them.
_NOT_FROM_A_RUNNER = frozenset(
    {
        Reason.PRUNED,
        Reason.PAUSED_BY_USER,
        Reason.RUNNER_LOST,
        Reason.WORKER_LOST,
        Reason.WORKER_STOPPED,
        Reason.PREEMPTED,
    }
)

# The values with which a runner says that all its results are written.
_COMPLETE = frozenset(reason.value for reason in COMPLETE - _NOT_FROM_A_RUNNER)

# It does not say that the job was too large: another process may have used the memory.
OUT_OF_MEMORY_HINT = (
    "The kernel killed a process of this machine because memory ran out. If it happens again, use "
    "smaller layers, a smaller training.batch_size or fewer data.steps, or a worker with more "
    "memory."
)

VMSTAT = Path("/proc/vmstat")


class StopCause(IntEnum):
    """Why the agent stopped a runner; a greater value takes precedence over a smaller one."""

    BROKEN = 1  # the runner broke the protocol, or the service refused its events
    WORKER_STOPPED = 2  # the agent itself shuts down
    CANCELLED = 3  # the user cancelled or paused the job


@dataclass(frozen=True)
class RunnerExit:
    """All facts about a runner that has ended with all its descendants."""

    done: DoneEvent | None  # the outcome that the runner reported
    exit_code: int  # negative: the signal that ended it
    has_manifest: bool = False  # the runner announced one
    stop: StopCause | None = None  # why the agent stopped it, if it did
    detail: str = ""  # an error message of the agent that says more than the exit code
    oom_kills: int = 0  # processes that the kernel killed for lack of memory while it ran
    fault: WorkerFault | None = None  # the fault of the machine that stopped it
    shuts_down: bool = False  # the agent was asked to shut down after the runner's report

    @property
    def is_complete(self) -> bool:
        """Return whether there is a complete result, whatever the exit code."""
        if self.done is None or self.stop is StopCause.BROKEN:
            return False
        return self.done.reason in _COMPLETE and self.has_manifest


def outcome_of(runner_exit: RunnerExit) -> AttemptOutcome:
    """Return the outcome to report.

    A complete result counts, whenever it was complete. Otherwise the agent's own cause takes
    precedence over the runner's report: a compiler that the same SIGTERM killed is not a failure
    of the job.
    """
    done = runner_exit.done
    if runner_exit.is_complete and done:
        return AttemptOutcome(Reason(done.reason), done.message, done.summary)
    if runner_exit.stop is StopCause.CANCELLED:
        how = _describe(runner_exit.exit_code)
        message = "" if done else f"The runner did not stop by itself: {how}."
        return AttemptOutcome(Reason.CANCELLED_BY_USER, message, done.summary if done else {})
    # The kernel may have killed the runner before the stop of the agent, or caused that stop.
    was_killed = not done and runner_exit.oom_kills and runner_exit.exit_code == -signal.SIGKILL
    if runner_exit.stop is StopCause.WORKER_STOPPED and not was_killed:
        return AttemptOutcome(Reason.WORKER_STOPPED, "The agent was shut down or drained.")
    if runner_exit.stop is StopCause.BROKEN:
        return AttemptOutcome(Reason.RUNNER_ERROR, runner_exit.detail)
    if done is None and runner_exit.fault and not runner_exit.oom_kills:
        return AttemptOutcome(runner_exit.fault.reason, runner_exit.fault.message)
    if done is None:
        how = _describe(runner_exit.exit_code)
        detail = runner_exit.detail or f"The runner ended without reporting an outcome: {how}."
        if runner_exit.exit_code == -signal.SIGKILL and runner_exit.oom_kills > 0:
            detail += f" {OUT_OF_MEMORY_HINT}"
        return AttemptOutcome(Reason.RUNNER_LOST, detail)
    return _reported_outcome(done)


def _reported_outcome(done: DoneEvent) -> AttemptOutcome:
    reason = next((known for known in Reason if known.value == done.reason), None)
    if reason is None or reason in _NOT_FROM_A_RUNNER:
        return AttemptOutcome(
            Reason.RUNNER_ERROR, f"The runner reported an unknown reason: {done.reason}."
        )
    if reason is Reason.CANCELLED_BY_USER:
        # Another process sent SIGTERM, not the user, so the job is tried again.
        return AttemptOutcome(
            Reason.RUNNER_LOST, "The runner was stopped by another process than this agent."
        )
    if done.reason in _COMPLETE:
        return AttemptOutcome(
            Reason.RUNNER_ERROR, "The runner reported completion without a manifest."
        )
    return AttemptOutcome(reason, done.message, done.summary)


def _describe(exit_code: int) -> str:
    if exit_code >= 0:
        return f"it exited with code {exit_code}"
    try:
        name = signal.Signals(-exit_code).name
    except ValueError:
        name = "unknown"
    return f"it was ended by signal {-exit_code} ({name})"


def oom_kills(vmstat: Path = VMSTAT) -> int:
    """Return how many processes of this machine were killed, 0 if the kernel does not say."""
    try:
        lines = vmstat.read_text("ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)
