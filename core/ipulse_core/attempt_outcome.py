"""The outcome of an attempt, as runner, agent and service exchange it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Mapping

from ipulse_core.states import Reason


@dataclass(frozen=True)
class AttemptOutcome:
    """Why an attempt ended: a reason, a sentence for people and the final figures."""

    reason: Reason
    message: str = ""
    summary: Mapping[str, float] = field(default_factory=dict)
    # What the worker had too little of for this job, as in `ipulse_core.capabilities`: a
    # repetition of the report may have measured it anew.
    lacking: Mapping[str, int] = field(default_factory=dict, compare=False)
