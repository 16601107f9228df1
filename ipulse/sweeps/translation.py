"""A sweep of another tool as one of IPUlse, and what could not be translated."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ipulse.spec.paths import find_path, pointer, with_value
from ipulse_core.errors import InvalidSpec

from .config import parse_sweep

MAX_GRID = 1000  # values that a range of integers becomes in a grid


@dataclass
class SweepTranslation:
    """A sweep under way: its document, the spec, and remarks about what has no counterpart."""

    name: str
    spec: dict[str, Any]
    document: dict[str, Any] = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)

    def vary(self, path: str, parameter: Mapping[str, Any]) -> None:
        """Add a setting that varies, by the end of its path in the spec."""
        place = self._place(path)
        if place is not None:
            self.parameters[place] = dict(parameter)

    def fix(self, path: str, value: Any) -> None:
        """Set a field of the spec, by the end of its path."""
        place = self._place(path)
        if place is not None:
            tokens = find_path(self.spec, place)
            self.spec = with_value(self.spec, tokens, value)

    def _place(self, path: str) -> str | None:
        try:
            tokens = find_path(self.spec, path)
        except InvalidSpec as error:
            self.remarks.append(f"{path}: {error.problems[0].detail}: left out")
            return None
        return pointer(tokens)

    def leave_out(self, keys: Mapping[str, Any], *known: str) -> None:
        """Remark on keys that were not translated."""
        self.remarks += [f"{key}: has no counterpart: left out" for key in keys if key not in known]

    def compare_by(self, metric: Any, goal: Any) -> None:
        """Compare trials by a metric, if one of IPUlse has this name."""
        wanted = str(metric or "").replace("/", "_").replace("val_", "validation_", 1)
        parts = wanted.partition("_")
        if parts[0] in ("test", "validation") and parts[2] in ("accuracy", "loss", "mae", "mse"):
            self.document["objective"] = {"metric": wanted, **({"goal": goal} if goal else {})}
        elif metric:
            self.remarks.append(
                f"metric {metric}: not a metric of IPUlse: trials are compared by the accuracy; "
                "`objective` of the sweep can name another one"
            )

    def finished(self) -> dict[str, Any]:
        """Return the sweep. Raises InvalidSweep with every problem that is left."""
        document = {
            "version": 1,
            "sweep": self.name,
            "spec": self.spec,
            "parameters": self.parameters,
            **self.document,
        }
        parse_sweep(document)
        return document


def number_of(value: Any) -> float | None:
    """Return a finite number, or None for anything else. YAML reads 1e-4 as text."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return value if math.isfinite(value) else None
    except OverflowError:
        return None
