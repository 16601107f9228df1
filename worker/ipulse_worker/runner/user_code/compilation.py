"""Runs compilers on code of users in the sandbox."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Dict, List, Optional

from ipulse_core.events import LogEvent
from ipulse_core.sandbox.limits import SandboxLimits
from ipulse_core.sandbox.sandbox import WORK_PLACE, Sandbox
from ipulse_core.states import Reason
from ipulse_worker.runner.user_code.failure import ProgramFailure

PACKAGE = "/package"  # a place in the sandbox
LIMITS = SandboxLimits(seconds=600, memory_bytes=2**32, disk_bytes=2**29, processes=64)
_ERROR = re.compile(r"(?:fatal )?error: |undefined reference|multiple definition")


class FirstError:
    """Remembers the first error of a compiler among the lines of a log."""

    def __init__(self) -> None:
        self.line: Optional[str] = None

    def see(self, event: LogEvent) -> None:
        """Look at a line."""
        if self.line is None and _ERROR.search(event.message):
            self.line = event.message.replace(f"{PACKAGE}/", "")


def compile_in_sandbox(
    sandbox: Sandbox,
    command: List[str],
    environment: Dict[str, str],
    out: Path,
    what: str,
    errors: FirstError,
) -> float:
    """Run a compiler and return its seconds; its files are written to the folder `out`.

    `what` is compiled, for messages. Raises ProgramFailure with the compiler's first error.
    """
    done = sandbox.run(command, {**environment, "PWD": WORK_PLACE}, LIMITS, out)
    if done.exceeded == "memory":
        raise ProgramFailure(
            Reason.OUT_OF_MEMORY,
            f"Compiling {what} needs more than {LIMITS.memory_bytes // 2**20:,} MiB of memory.",
        )
    if done.exceeded == "seconds":
        raise ProgramFailure(
            Reason.LIMIT_EXCEEDED, f"Compiling {what} takes longer than {LIMITS.seconds:g} s."
        )
    if done.status:
        first = errors.line or "the log has the compiler's output"
        more = f" (it reached {LIMITS.processes} processes)" if done.lacked_processes else ""
        raise ProgramFailure(Reason.BUILD_FAILED, f"{what} does not compile: {first}{more}")
    return done.seconds
