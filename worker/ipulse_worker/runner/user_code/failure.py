"""The error of code of users, which ends its job with a reason."""

from __future__ import annotations

from ipulse_core.states import Reason


class ProgramFailure(Exception):
    """The program or the op could not be built, or ended badly."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
