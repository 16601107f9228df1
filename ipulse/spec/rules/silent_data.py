"""Refuses data of which no spike can fall into the time steps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ipulse_core.errors import Problem
from ipulse_core.spec.encodings import earliest_step
from ipulse_core.spec.kind_fields import field_of

if TYPE_CHECKING:
    from ipulse.spec.experiment import ExperimentSpec


def silent_data_problems(spec: ExperimentSpec) -> Iterator[Problem]:
    """Yields a problem if even the largest value has its spike after the last step."""
    encoding = field_of(spec.data, "encoding")
    if encoding is None or not spec.data.steps:  # those of an upload are filled in later
        return
    earliest = earliest_step(encoding, spec.data.step_ms)
    if earliest >= spec.data.steps:
        detail = (
            f"no spike falls into the time steps: with {encoding.kind} even the largest value, 1, "
            f"has its spike in step {earliest + 1:,}. Set at least {earliest + 1:,} steps, a "
            "longer step_ms or a shorter encoding.tau_eff_ms"
        )
        yield Problem("/data/steps", "no_spikes", detail)
