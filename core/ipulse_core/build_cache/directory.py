"""The location of the build cache."""

from __future__ import annotations

import os
from pathlib import Path


def cache_directory() -> Path:
    """Return the directory of all cached builds: `$IPULSE_CACHE`, else `~/.cache/ipulse`."""
    configured = os.environ.get("IPULSE_CACHE")
    return Path(configured) if configured else Path.home() / ".cache" / "ipulse"
