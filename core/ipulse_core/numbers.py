"""Writes numbers for people, without an exponent."""

from __future__ import annotations

from decimal import Decimal


def plain_number(value: float, digits: int = 4) -> str:
    """Format a number: 25,520, 97.49, 0.00001.

    Args:
        value: an integer is written in full; any other number is rounded, and a large one to an
            integer.
        digits: significant digits of what is rounded, at least.
    """
    if value != value or value in (float("inf"), float("-inf")):
        return str(value)
    if float(value).is_integer() or abs(value) >= 10**digits:
        return f"{round(value):,}"
    rounded = Decimal(f"{value:.{digits}g}")
    return f"{rounded.normalize():,f}"
