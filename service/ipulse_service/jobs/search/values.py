"""Values of the search language: numbers, durations and times."""

from __future__ import annotations

import math
import re
from datetime import datetime, timedelta, timezone, tzinfo
from typing import NamedTuple
from zoneinfo import ZoneInfo

from ipulse_service.jobs.search.terms import QueryText, invalid

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?")
_DURATION = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)(ms|s|m|h|d|w)?")
_SECONDS = {"ms": 0.001, None: 1, "s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_OFFSET = re.compile(r"([+-])(\d{2}):([0-5]\d)")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


class TimeSpan(NamedTuple):
    """The milliseconds since 1970 that a text means: from `begin` up to, not including, `end`."""

    begin: int
    end: int


def number_in(text: str) -> float | None:
    """Returns the number that a text is, None for another text."""
    if not _NUMBER.fullmatch(text):
        return None
    number = float(text)
    return number if math.isfinite(number) else None


def required_number(value: QueryText, name: str) -> float:
    """Returns the number of a value. Raises InvalidQuery for another text."""
    number = number_in(value.text)
    if number is None or value.is_prefix:
        raise _wrong(value, f"{name} is compared with a number, such as 0.95")
    return number


def seconds_in(value: QueryText, name: str) -> float:
    """Returns a duration such as 90, 90s, 15m, 12h, 7d or 2w. Raises InvalidQuery."""
    match = _DURATION.fullmatch(value.text)
    if match is None or value.is_prefix:
        raise _wrong(value, f"{name} is compared with a duration, such as 30s, 15m, 12h, 7d or 2w")
    return float(match[1]) * _SECONDS[match[2]]


def zone_of(text: str) -> tzinfo:
    """Returns the time zone of a name such as Asia/Kolkata, or an offset such as +05:30.

    Raises ValueError for another text.
    """
    offset = _OFFSET.fullmatch(text)
    if offset:
        minutes = 60 * int(offset[2]) + int(offset[3])
        return timezone((1 if offset[1] == "+" else -1) * timedelta(minutes=minutes))
    try:
        return ZoneInfo(text)
    except (LookupError, OSError, ValueError):
        form = "a time zone such as Asia/Kolkata, UTC or +05:30"
        raise ValueError(f"must be {form}") from None


def time_span(value: QueryText, name: str, zone: tzinfo) -> TimeSpan:
    """Returns the span of a date, or the millisecond of a time, in the zone unless it has one.

    Raises InvalidQuery for another text.
    """
    is_day = _DATE.fullmatch(value.text) is not None
    form = "2026-01-31 or 2026-01-31T12:00:00Z"
    wrong = _wrong(value, f"{name} is compared with a time, such as {form}")
    if value.is_prefix:
        raise wrong
    try:
        moment = datetime.fromisoformat(value.text)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=zone)
        begin = round(moment.timestamp() * 1000)
        # A day with a change of the clock has more or fewer than 24 hours.
        end = round((moment + timedelta(days=1)).timestamp() * 1000) if is_day else begin
    except (ValueError, OverflowError):
        raise wrong from None
    return TimeSpan(begin, end)


def _wrong(value: QueryText, detail: str) -> Exception:
    shown = value.text[:40]
    return invalid("wrong_value", f"{detail}; got `{shown}`", value.position, value.length)
