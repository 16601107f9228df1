"""Times in responses."""

from __future__ import annotations

from datetime import datetime, timezone


def time_of(text: str) -> datetime:
    """Parse an RFC 3339 time in UTC."""
    # fromisoformat reads the final Z only from Python 3.11 on.
    return datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(timezone.utc)
