"""A command with a query as argument, which may begin with `-`: `ipulse list '-state:failed'`."""

from __future__ import annotations

import re
from typing import Any

from typer.core import TyperCommand

# A term with an operator, a quoted one, a group, or several terms; no option looks so.
_NEGATED = re.compile(r"-(?:[A-Za-z_/][^\s=:<>!]*\s*(?:!=|[:=<>])|[\"(]|[^-\s][^\s]*\s)")


class QueryCommand(TyperCommand):
    """Takes arguments that begin with a negated term for queries, and not for options."""

    def parse_args(self, context: Any, args: list[str]) -> list[str]:
        """Put a space, which means nothing in a query, before such an argument."""
        return super().parse_args(context, [f" {a}" if _NEGATED.match(a) else a for a in args])
