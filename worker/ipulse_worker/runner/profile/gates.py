"""Compares the profile of the tiles with the gates of the spec."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Optional

from ipulse_core.pva.conditions import broken, parse_condition
from ipulse_core.pva.figures import figures_of
from ipulse_core.pva.report import Report

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec

FAILED_GATES = "The results are stored, but the profile does not meet a gate"


def broken_gates(spec: ExperimentSpec, profile: Optional[Dict[str, Any]]) -> List[str]:
    """Return the gates that do not hold, each with the value.

    A gate whose figure is missing does not hold: nothing is passed without a measurement.
    """
    conditions = [parse_condition(gate) for gate in spec.profile.gates]
    return broken(conditions, figures_of(Report(profile)) if profile and conditions else {})
