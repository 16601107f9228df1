"""Numbers, texts and choices of a document, judged by the limits of the field they are in.

Each function returns the value, or ABSENT after it has told what is wrong with it.
"""

from __future__ import annotations

import math
import operator
import re
from typing import Any, List, Sequence

from ipulse_core.errors import Problem
from ipulse_core.schema import CONTROL_CHARACTERS, MAX_INTEGER, MAX_TEXT

ABSENT = object()


def parse_integer(value: Any, at: str, limits: Any, found: List[Problem]) -> Any:
    if isinstance(value, bool) or not isinstance(value, int):
        return wrong(at, "an integer", value, found)
    if abs(value) > MAX_INTEGER:
        found.append(Problem(at, "out_of_range", f"must lie within ±{MAX_INTEGER}"))
        return ABSENT
    return _within(value, at, limits, found)


def parse_number(value: Any, at: str, limits: Any, found: List[Problem]) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return wrong(at, "a number", value, found)
    if isinstance(value, int) and abs(value) > MAX_INTEGER:
        found.append(Problem(at, "out_of_range", f"must lie within ±{MAX_INTEGER}"))
        return ABSENT
    if not math.isfinite(value):
        found.append(Problem(at, "not_finite", "must be a finite number"))
        return ABSENT
    return _within(float(value), at, limits, found)


def _within(value: Any, at: str, limits: Any, found: List[Problem]) -> Any:
    tests = (
        ("ge", "at least", operator.ge),
        ("gt", "greater than", operator.gt),
        ("le", "at most", operator.le),
        ("lt", "less than", operator.lt),
    )
    unmet = [
        f"{words} {limits[name]}"
        for name, words, holds in tests
        if limits.get(name) is not None and not holds(value, limits[name])
    ]
    if unmet:
        found.append(Problem(at, "out_of_range", f"must be {' and '.join(unmet)}; got {value}"))
        return ABSENT
    return value


def parse_text(value: Any, at: str, limits: Any, found: List[Problem]) -> Any:
    if not isinstance(value, str):
        return wrong(at, "text", value, found)
    most = limits.get("max_length") or MAX_TEXT
    if len(value) > most:
        found.append(Problem(at, "too_long", f"must have at most {most} characters"))
    elif CONTROL_CHARACTERS.search(value):
        found.append(Problem(at, "control_character", "must not have control characters"))
    elif limits.get("pattern") and not re.fullmatch(limits["pattern"], value):
        found.append(Problem(at, "wrong_form", f"must match {limits['pattern']}"))
    else:
        return value
    return ABSENT


def are_texts(values: List[Any], limits: Any) -> bool:
    """Whether `parse_text` would find nothing wrong, for many values in less time."""
    return (
        not limits.get("pattern")
        and {str}.issuperset(map(type, values))
        and max(map(len, values), default=0) <= (limits.get("max_length") or MAX_TEXT)
        and not CONTROL_CHARACTERS.search("".join(values))
    )


def parse_choice(choices: Sequence[Any], value: Any, at: str, found: List[Problem]) -> Any:
    if type(value) is str and value in choices:
        return value
    # True == 1 in Python, so the type is compared too.
    for choice in choices:
        if type(choice) is type(value) and choice == value:
            return choice
    listed = ", ".join(str(choice) for choice in choices)
    found.append(Problem(at, "not_a_choice", f"must be one of {listed}; got {shown(value)}"))
    return ABSENT


def wrong(at: str, wanted: str, value: Any, found: List[Problem]) -> Any:
    found.append(Problem(at, "wrong_type", f"must be {wanted}; got {shown(value)}"))
    return ABSENT


def shown(value: Any) -> str:
    """A value as an answer may quote it."""
    names = {dict: "an object", list: "a list", bool: "a boolean", type(None): "null"}
    if type(value) in names:
        return names[type(value)]
    if isinstance(value, int) and abs(value) > MAX_INTEGER:
        return "a huge integer"  # whose digits Python may refuse to write
    written = repr(value[:40] if isinstance(value, str) else value)
    return written if len(written) <= 60 else written[:60] + "..."
