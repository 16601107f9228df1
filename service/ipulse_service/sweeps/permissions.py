"""What a caller may do with a sweep, as far as its rights go; states are not looked at."""

from __future__ import annotations

from typing import Literal

from ipulse_service.db.access import Access, Action
from ipulse_service.sweeps import code_rights
from ipulse_service.sweeps.rows import SweepRow

SweepAction = Literal["change", "grow"]


def allowed(access: Access, sweep: SweepRow) -> list[SweepAction]:
    """Returns the names of what a caller may do with a sweep that it sees."""
    if not access.may_change(sweep.project, sweep.owner):
        return []
    if access.decide(Action.SUBMIT_CODE, sweep.project):
        return ["change", "grow"]
    return ["change"] if code_rights.names_op(sweep.definition) else ["change", "grow"]
