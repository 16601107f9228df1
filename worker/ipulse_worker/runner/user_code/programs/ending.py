"""How a program has ended, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional

from ipulse_core.events import LogEvent
from ipulse_core.sandbox.sandbox import SandboxResult
from ipulse_core.states import Reason
from ipulse_worker.runner.user_code.budget import of_program
from ipulse_worker.runner.user_code.failure import ProgramFailure, excess, lack_of_processes

if TYPE_CHECKING:
    from ipulse.spec import ProgramLimits

_THROWN = "what():"  # begins the message of an exception that nobody caught
MAX_THROWN = 2000  # characters


class UncaughtException:
    """Remembers the message of the C++ runtime about an exception that ended the program.

    The program may have written it itself: it is only shown, and never decides what happens next.
    """

    def __init__(self) -> None:
        self.message: Optional[str] = None

    def see(self, event: LogEvent) -> None:
        """Look at a line."""
        text = event.message.strip()
        if event.stream == "stderr" and text.startswith(_THROWN):
            self.message = text[len(_THROWN) :].strip()[:MAX_THROWN]


def failure_of(
    result: SandboxResult, limits: ProgramLimits, why: Optional[str], what: str = "program"
) -> Optional[ProgramFailure]:
    """Return the failure of a program or a script that has ended, None if it ended well.

    `why` is the message of the program itself.
    """
    lost, budget = left_out(result), of_program(limits, limits.seconds)
    late = f"ran longer than {limits.seconds:,} s: raise limits.seconds"
    failure = excess(f"The {what}", result.exceeded, budget, late, ": raise limits.memory_mib")
    if failure is not None:
        return ProgramFailure(failure.reason, f"{failure.message}{lost}")
    if result.status == 0:
        return None
    ended = f"The {what} ended with exit status {result.status}"
    text = f"{ended}: {why}" if why else f"{ended}."
    lacked = f" {too_few_processes(limits)}" if result.lacked_processes else ""
    return ProgramFailure(Reason.PROGRAM_FAILED, f"{text}{lacked}{lost}")


def too_few_processes(limits: ProgramLimits) -> str:
    """Return a sentence about a program that wanted more processes than its spec gives it."""
    return lack_of_processes(of_program(limits, limits.seconds), ": raise limits.processes")


def left_out(result: SandboxResult) -> str:
    """Return a sentence about files of a program that are not stored; empty if all are."""
    count = result.returned.left_out
    if not count:
        return ""
    return f" Not stored: {count:,} {'file' if count == 1 else 'files'}; the log says why."
