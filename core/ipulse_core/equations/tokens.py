"""Splits the text of an expression into tokens."""

from __future__ import annotations

import re
from typing import List, NamedTuple

_TOKEN = re.compile(
    r"(?P<space>[ \t]+)"
    r"|(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*(?:(?:\[[0-9]+\])?\.[A-Za-z_][A-Za-z0-9_]*)?)"
    r"|(?P<sign><=|>=|==|!=|[-+*/<>(),])"
)
_HINTS = {
    "=": "; compare with ==",
    "^": "; a power is a product: use square(a), or a * a * a",
    "&": "; use min(a, b) of two comparisons",
    "|": "; use max(a, b) of two comparisons",
    "%": "; there is no remainder",
    "[": "; write layers[0].membrane or layers[0].spikes, where a layer may be read",
    "\n": "; an expression is one line (in YAML begin it with >-)",
    "\u2212": "; the sign is -",
}


class ExpressionError(ValueError):
    """The text of an expression is wrong."""

    def __init__(self, column: int, detail: str) -> None:
        """Describe the mistake; columns count from 1."""
        super().__init__(f"column {column}: {detail}")
        self.column = column
        self.detail = detail


class ExpressionToken(NamedTuple):
    """A part of the text. `layers[0].spikes` and `features.spikes` are names."""

    kind: str  # "number", "name", "sign" or "end"
    text: str
    column: int  # from 1


def tokens_of(text: str) -> List[ExpressionToken]:
    """Returns the tokens of an expression, the last of kind "end".

    Raises ExpressionError for a character that no expression has.
    """
    found: List[ExpressionToken] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            sign = text[at]
            if text.startswith("**", at):
                sign = "^"
            hint = _HINTS.get(sign, "")
            raise ExpressionError(at + 1, f"{text[at]!a} is not part of an expression{hint}")
        kind = str(match.lastgroup)
        if kind != "space":
            found.append(ExpressionToken(kind, match.group(), at + 1))
        at = match.end()
    found.append(ExpressionToken("end", "", len(text) + 1))
    return found
