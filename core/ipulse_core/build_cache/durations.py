"""How long builds took on this machine, kept in one small file of the cache."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from pathlib import Path
from typing import Dict, Optional

FILE = "durations.json"


def recorded_seconds(cache: Path, name: str) -> Optional[float]:
    """Return how long the last build of that name took, or None if none is recorded."""
    seconds = _read(cache).get(name)
    return float(seconds) if isinstance(seconds, (int, float)) and seconds > 0 else None


def record_seconds(cache: Path, name: str, seconds: float) -> None:
    """Record a duration. A cache that cannot be written is no error."""
    durations = {**_read(cache), name: round(seconds, 1)}
    with contextlib.suppress(OSError):
        descriptor, partial = tempfile.mkstemp(dir=str(cache), prefix=FILE, suffix=".partial")
        with os.fdopen(descriptor, "w") as file:
            json.dump(durations, file)
        os.replace(partial, cache / FILE)


def _read(cache: Path) -> Dict[str, object]:
    try:
        found = json.loads((cache / FILE).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
