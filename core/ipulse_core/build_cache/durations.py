"""How long builds took on this machine, kept in one small file of the cache.

An entry has the seconds after each step. One number is a duration whose steps are not known.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

FILE = "durations.json"


def recorded_seconds(cache: Path, name: str) -> Optional[float]:
    """Return how long the last build of that name took, or None if none is recorded."""
    steps = recorded_steps(cache, name)
    return steps[-1] if steps else None


def recorded_steps(cache: Path, name: str) -> List[float]:
    """Return the seconds after each step of the last build of that name; empty if unknown."""
    entry: Any = _read(cache).get(name)
    steps = entry if isinstance(entry, list) else [entry]
    if not all(isinstance(seconds, (int, float)) and seconds >= 0 for seconds in steps):
        return []
    return [float(seconds) for seconds in steps] if steps[-1:] > [0] else []


def record_steps(cache: Path, name: str, seconds: Sequence[float]) -> None:
    """Record the seconds after each step of a build. A cache that is read-only is no error."""
    durations = {**_read(cache), name: [round(after, 1) for after in seconds]}
    with contextlib.suppress(OSError):
        descriptor, partial = tempfile.mkstemp(dir=str(cache), prefix=FILE, suffix=".partial")
        try:
            with os.fdopen(descriptor, "w") as file:
                json.dump(durations, file)
            os.replace(partial, cache / FILE)
        except OSError:
            os.unlink(partial)
            raise


def _read(cache: Path) -> Dict[str, object]:
    try:
        found = json.loads((cache / FILE).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
