"""Failures of the database, with a sentence for the operator."""

from __future__ import annotations

from sqlalchemy.exc import DatabaseError, InterfaceError, InternalError, OperationalError

from ipulse_core.errors import Unavailable

# The database itself fails: it is locked, full, unreadable or gone, or is no database.
TROUBLE = (DatabaseError, OperationalError, InterfaceError, InternalError)


class DatabaseFailed(Unavailable):
    """The database is not available.

    Its message is for users; `problem` is one sentence for the operator of the service.
    """

    def __init__(self, problem: str, is_passing: bool) -> None:
        """`is_passing`: a later try may succeed without a change by the operator."""
        self.problem = problem
        self.is_passing = is_passing
        super().__init__(
            "the database is not available; try again in a few seconds. If it stays so, ask "
            "the operator of the service: its log contains the reason"
        )
