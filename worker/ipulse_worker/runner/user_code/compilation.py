"""Runs compilers on code of users in the sandbox."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Dict, List, Optional

from ipulse_core.events import LogEvent
from ipulse_core.sandbox.sandbox import WORK_PLACE, Sandbox
from ipulse_core.states import Reason
from ipulse_worker.runner.user_code import budget
from ipulse_worker.runner.user_code.failure import ProgramFailure, excess

PACKAGE = "/package"  # a place in the sandbox
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
    limits = budget.COMPILER
    done = sandbox.run(command, {**environment, "PWD": WORK_PLACE}, limits, out)
    late = f"takes longer than {limits.seconds:g} s"
    failure = excess(f"Compiling {what}", done.exceeded, limits, late)
    if failure is not None:
        raise failure
    if done.status:
        first = errors.line or "the log has the compiler's output"
        more = f" (it reached {limits.processes} processes)" if done.lacked_processes else ""
        raise ProgramFailure(Reason.BUILD_FAILED, f"{what} does not compile: {first}{more}")
    return done.seconds
