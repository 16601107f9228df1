"""Converts a surrogate to the attributes of an op."""

from __future__ import annotations

from typing import Any, Dict

from ipulse_ops.surrogate import SURROGATES, Boxcar, Surrogate, Table

ATTRIBUTES = ("surrogate", "slope", "width", "values")


def attributes(surrogate: Surrogate) -> Dict[str, Any]:
    """Return the attributes of surrogate.h; those that a surrogate does not have are 0."""
    kind = next(name for name, known in SURROGATES.items() if known is type(surrogate))
    slope = width = 0.0
    values = []
    if isinstance(surrogate, Table):
        width, values = surrogate.width, list(surrogate.values)
    elif isinstance(surrogate, Boxcar):
        width = surrogate.half_width
    else:
        slope = surrogate.slope
    return {"surrogate": kind, "slope": slope, "width": width, "values": values}
