"""How a table of docs/load.md is written."""

from __future__ import annotations

from typing import Any


def table(head: Any, body: Any) -> list[str]:
    """Lines of a Markdown table."""
    rule = ["---" if index == 0 else "---:" for index in range(len(head))]
    return ["| " + " | ".join(map(_shown, row)) + " |" for row in (head, rule, *body)]


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
