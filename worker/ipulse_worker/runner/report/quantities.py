"""Formats numbers with their units."""

from __future__ import annotations

from typing import Sequence


def duration(seconds: float) -> str:
    """Format with three digits and a unit: 12.3 µs, 4.56 ms, 7.89 s, 2 min 05 s, 3 h 04 min."""
    if seconds >= 3600:
        hours, minutes = divmod(round(seconds / 60), 60)
        return f"{hours:,} h {minutes:02d} min"
    if seconds >= 99.95:
        minutes, rest = divmod(round(seconds), 60)
        return f"{minutes} min {rest:02d} s"
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 0.9995 or unit == "µs":
            return f"{_three_digits(seconds * factor)} {unit}"
    raise AssertionError("the loop's last unit always returns")


def count(number: float) -> str:
    """Format an integer with thousands separators."""
    return f"{round(number):,}"


def percent(share: float, digits: int = 1) -> str:
    """Format a fraction as a percentage."""
    return f"{100 * share:.{digits}f} %"


def size(number_of_bytes: float) -> str:
    """Format with binary units: 512 B, 98.5 KiB, 1.25 GiB."""
    value, unit = float(number_of_bytes), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if value < 1000:
            break
        value, unit = value / 1024, larger
    return f"{value:.0f} B" if unit == "B" else f"{_three_digits(value)} {unit}"


def listed(words: Sequence[str]) -> str:
    """Join words: one; one and two; one, two and three."""
    *before, last = words
    return f"{', '.join(before)} and {last}" if before else last


def _three_digits(value: float) -> str:
    digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:.{digits}f}"
