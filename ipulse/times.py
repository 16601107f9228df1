"""Times in requests and responses: those without a zone are in the caller's.

The service knows no caller's zone, so that every time is sent with an offset, and a query that
contains dates with the name of the zone.
"""

from __future__ import annotations

import os
import re
from datetime import datetime, timezone
from zoneinfo import ZoneInfo

_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_LOCAL = "/etc/localtime"
_ZONES = "/zoneinfo/"


def time_of(text: str) -> datetime:
    """Parse a time, and return it in UTC; a time without a zone is local."""
    # fromisoformat reads the final Z only from Python 3.11 on.
    return datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(timezone.utc)


def sent_text(time: datetime) -> str:
    """Return a time as it is sent: with its offset; a time without a zone is local."""
    return (time if time.tzinfo else time.astimezone()).isoformat()


def shown_text(time: datetime, seconds: bool = False) -> str:
    """Return a time in the caller's zone with the offset, such as 2026-01-31 17:30 +05:30."""
    local = time.astimezone()
    offset = f"{local:%z}"
    zone = "UTC" if offset == "+0000" else f"{offset[:3]}:{offset[3:5]}"
    return f"{local:%Y-%m-%d %H:%M:%S} {zone}" if seconds else f"{local:%Y-%m-%d %H:%M} {zone}"


def zone_parameter(query: str) -> dict[str, str]:
    """Return the parameter with the caller's zone for a query with dates, else none."""
    return {"time_zone": local_zone()} if _DATE.search(query) else {}


def local_zone() -> str:
    """Return the name of the caller's zone; its offset if it has no name."""
    place = os.environ.get("TZ", "").lstrip(":") or os.path.realpath(_LOCAL)
    name = place.rpartition(_ZONES)[2]
    try:
        here, named = datetime.now().astimezone(), datetime.now(ZoneInfo(name))
        if here.utcoffset() == named.utcoffset():
            return name
    except (LookupError, OSError, ValueError):
        pass  # a file of its own, or a rule such as CET-1CEST
    offset = f"{datetime.now().astimezone():%z}"
    return f"{offset[:3]}:{offset[3:5]}"
