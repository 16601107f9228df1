"""Messages for unknown names and wrong calls in equations."""

from __future__ import annotations

import difflib
from typing import Collection, Dict

_ALIASES: Dict[str, str] = {
    "relu": "max(0, a)",
    "pow": "a * a",
    "heaviside": "a > 0",
    "step": "a > 0",
    "clip": "min(max(a, low), high)",
    "stop_gradient": "detach(a)",
    "if": "where(condition, a, b)",
    "ln": "log(a)",
    "pow2": "square(a)",
    "sigmoid": "1 / (1 + exp(-a))",
    "softplus": "max(a, 0) + log(1 + exp(-abs(a)))",
    "cross_entropy": "-sum(label * log_softmax(a))",
    "argmax": "where(a == largest(a), 1, 0)",
}
_OVER_CLASSES: Dict[str, str] = {
    "max": "; the largest of all classes is largest(a), of all steps max_over_time(a)",
    "min": "; the smallest of all classes is -largest(-a), of all steps -max_over_time(-a)",
}


def unknown_name(text: str, known: Collection[str], what: str = "name") -> str:
    """Returns the message for an unknown name."""
    shown = f"{text[:40]!a}" if text else "the end"
    listed = ", ".join(sorted(known))
    detail = f"there is no {what} {shown} here"
    near = difflib.get_close_matches(text[:40], list(known), n=1)
    if near:
        detail += f"; did you mean {near[0]}?"
    elif what == "function" and text in _ALIASES:
        detail += f"; write {_ALIASES[text]}"
    return f"{detail} Known: {listed}" if near else f"{detail}; known are {listed}"


def hint_for_one_argument(name: str) -> str:
    """Returns what to write in a loss instead of max or min of one argument, else nothing."""
    return _OVER_CLASSES.get(name, "")
