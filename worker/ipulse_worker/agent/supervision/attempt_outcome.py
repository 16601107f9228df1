"""How an attempt ended: what the runner said, weighed against what the agent saw and did."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from ipulse_core.events import DoneEvent
from ipulse_core.states import Reason

# What only an agent or the service can know is not for a runner to say.
_NOT_THE_RUNNERS = frozenset({Reason.RUNNER_LOST, Reason.WORKER_LOST, Reason.WORKER_STOPPED})

# Whose memory it was is not told: it may have been another's, so that the next attempt may succeed.
SHORT_OF_MEMORY = (
    "The kernel ended a process for want of memory meanwhile. If that goes on, use smaller layers, "
    "a smaller training.batch_size or fewer data.steps, or a worker with more memory."
)


class StopCause(IntEnum):
    """Why the agent told a runner to stop; a greater one outweighs a lesser."""

    BROKEN = 1  # the runner does not speak the protocol, or its words were refused
    WORKER_STOPPED = 2  # the agent itself is told to stop
    CANCELLED = 3  # the user wants it


@dataclass(frozen=True)
class Verdict:
    """Why an attempt ended, in a word, a sentence and figures."""

    reason: Reason
    message: str = ""
    summary: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Ending:
    """All that is known when a runner and its descendants are gone."""

    done: DoneEvent | None  # the runner's own verdict
    exit_code: int  # negative: the signal that ended it
    has_manifest: bool = False  # the runner named one
    stop: StopCause | None = None  # why it was told to stop, if it was
    detail: str = ""  # what was wrong, where the agent knows more than the exit code
    oom_kills: int = 0  # processes that the kernel ended for want of memory while it ran

    @property
    def is_complete(self) -> bool:
        """Whether there is a complete result, whatever the exit code."""
        if self.done is None or self.stop is StopCause.BROKEN:
            return False
        return self.done.reason == Reason.COMPLETED.value and self.has_manifest


def judge(ending: Ending) -> Verdict:
    """The verdict to report.

    A complete result is complete, whenever it came. Otherwise the agent's own cause counts and
    not what the runner makes of being stopped: a compiler killed by the same SIGTERM is no
    failure of the job.
    """
    done = ending.done
    if ending.is_complete and done:
        return Verdict(Reason.COMPLETED, done.message, done.summary)
    if ending.stop is StopCause.CANCELLED:
        message = "" if done else f"The runner did not stop by itself: {_how(ending.exit_code)}."
        return Verdict(Reason.CANCELLED_BY_USER, message, done.summary if done else {})
    if ending.stop is StopCause.WORKER_STOPPED:
        return Verdict(Reason.WORKER_STOPPED, "The agent was shut down.")
    if ending.stop is StopCause.BROKEN:
        return Verdict(Reason.RUNNER_ERROR, ending.detail)
    if done is None:
        detail = ending.detail or f"The runner ended without a verdict: {_how(ending.exit_code)}."
        if ending.exit_code == -signal.SIGKILL and ending.oom_kills > 0:
            detail += f" {SHORT_OF_MEMORY}"
        return Verdict(Reason.RUNNER_LOST, detail)
    return _of_its_own_accord(done)


def _of_its_own_accord(done: DoneEvent) -> Verdict:
    reason = next((known for known in Reason if known.value == done.reason), None)
    if reason is None or reason in _NOT_THE_RUNNERS:
        return Verdict(
            Reason.RUNNER_ERROR, f"The runner gave a reason that is none: {done.reason}."
        )
    if reason is Reason.CANCELLED_BY_USER:
        # Some other hand sent it SIGTERM; the user did not, so the job goes on elsewhere.
        return Verdict(Reason.RUNNER_LOST, "The runner was told to stop, but not by this agent.")
    if reason is Reason.COMPLETED:
        return Verdict(
            Reason.RUNNER_ERROR, "The runner said that it completed, but named no manifest."
        )
    return Verdict(reason, done.message, done.summary)


def _how(exit_code: int) -> str:
    """An exit code in words."""
    if exit_code >= 0:
        return f"it exited with code {exit_code}"
    try:
        name = signal.Signals(-exit_code).name
    except ValueError:
        name = "unknown"
    return f"it was ended by signal {-exit_code} ({name})"
