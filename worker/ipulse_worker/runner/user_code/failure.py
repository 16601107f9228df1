"""The error of code of users, which ends its job with a reason."""

from __future__ import annotations

from typing import Any, Optional

from ipulse_core.limits import CONTROL_CHARACTERS
from ipulse_core.sandbox.limits import SandboxLimits
from ipulse_core.states import Reason
from ipulse_worker.runner.user_code import budget


class ProgramFailure(Exception):
    """The program or the op could not be built, or ended badly."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


def excess(
    who: str, exceeded: Optional[str], limits: SandboxLimits, late: str, hint: str = ""
) -> Optional[ProgramFailure]:
    """Return the failure of code that used more than its budget; None if it did not.

    Args:
        who: the subject of the sentence.
        exceeded: "memory" or "seconds", as the sandbox says it.
        limits: of all its processes.
        late: the rest of the sentence about its time.
        hint: what to do if it needs more memory.
    """
    if exceeded == "memory":
        size = f"{limits.memory_bytes // 2**20:,} MiB"
        return ProgramFailure(
            Reason.OUT_OF_MEMORY, f"{who} needs more than {size} of memory{hint}."
        )
    if exceeded == "seconds":
        return ProgramFailure(Reason.LIMIT_EXCEEDED, f"{who} {late}.")
    return None


def lack_of_processes(limits: SandboxLimits, hint: str = "") -> str:
    """Return a sentence about code that wanted more processes than it got."""
    return f"It reached its limit of {limits.processes:,} processes and threads{hint}."


def printable(text: Any, characters: int = budget.MAX_TEXT) -> str:
    """Return a text of code of users as one line without control characters."""
    line = " ".join(str(text).splitlines())[:characters]
    return CONTROL_CHARACTERS.sub("\N{REPLACEMENT CHARACTER}", line)
