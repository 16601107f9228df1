"""Conditions on a profile: `cycles<=5e6`, `max_tile_memory<600KiB`, `cycles>+5%`."""

from __future__ import annotations

import operator
import re
from typing import Callable, List, Mapping, NamedTuple, Optional, Sequence

from ipulse_core.pva.figures import FIGURES, figure_text

_OPERATORS: Mapping[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
_BYTES = {"": 1, "B": 1, "kB": 10**3, "MB": 10**6, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_FORM = re.compile(
    r"\s*([a-z_]+)\s*(<=|>=|<|>)\s*([+-]?)(\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*(%|[A-Za-z]*)\s*"
)


class Condition(NamedTuple):
    """A comparison of a figure with a number. With a sign, of its change."""

    text: str
    figure: str
    comparison: str
    value: float
    is_change: bool
    is_percent: bool

    def holds(self, after: float, before: Optional[float] = None) -> bool:
        """Return whether it holds for the value; `before` is needed for a change."""
        if not self.is_change:
            return _OPERATORS[self.comparison](after, self.value)
        if before is None:
            raise ValueError(f"{self.text}: a change needs two profiles")
        change = after - before
        if self.is_percent:
            # Multiplied, not divided: a figure may have been zero.
            return _OPERATORS[self.comparison](100 * change, self.value * before)
        return _OPERATORS[self.comparison](change, self.value)


def parse_condition(text: str, changes: bool = False) -> Condition:
    """Return the condition in the text. `changes` allows those with a sign.

    Raises ValueError that says what is wrong.
    """
    match = _FORM.fullmatch(text)
    if match is None:
        example = "cycles>+5%" if changes else "max_tile_memory<600KiB"
        raise ValueError(f"{text!r} is not a condition such as {example}")
    name, comparison, sign, number, unit = match.groups()
    if name not in FIGURES:
        raise ValueError(f"{name!r} is not a figure of a profile: use {', '.join(FIGURES)}")
    if sign and not changes:
        raise ValueError(f"{text!r} is a change (it has a sign), and there is one profile")
    if unit == "%" and not sign:
        raise ValueError(f"{text!r}: a percentage is a change: write +{number}% or -{number}%")
    factor = _factor(text, unit, FIGURES[name].unit)
    value = float(f"{sign}{number.replace('_', '')}") * factor
    return Condition(text.strip(), name, comparison, value, bool(sign), unit == "%")


def broken(conditions: Sequence[Condition], figures: Mapping[str, float]) -> List[str]:
    """Describe the conditions that do not hold, with the value; a missing figure breaks its own."""
    lines = []
    for condition in conditions:
        value = figures.get(condition.figure)
        if value is None:
            lines.append(f"{condition.text} (the profile does not have it)")
        elif not condition.holds(value):
            lines.append(f"{condition.text} (it is {figure_text(condition.figure, value)})")
    return lines


def _factor(text: str, unit: str, of: str) -> float:
    if unit == "%":
        return 1.0
    if of == "bytes" and unit in _BYTES:
        return float(_BYTES[unit])
    if unit and not (of == "cycles" and unit == "cycles"):
        known = ", ".join(name for name in _BYTES if name) if of == "bytes" else (of or "no unit")
        raise ValueError(f"{text!r}: {unit!r} is not a unit of this figure: use {known}")
    return 1.0
