"""The result of one check of `ipulse doctor`."""

from __future__ import annotations

from dataclasses import dataclass

from ipulse.cli.exits import Exit


@dataclass(frozen=True)
class CheckResult:
    """The result of one check; `detail` describes it, or says what to do."""

    name: str
    fine: bool
    detail: str
    exit: Exit = Exit.OTHER  # the exit code if it is not fine
