"""Seed of generated examples: none in `make test`, a new one in each `make verify`.

Without a seed a test draws the same examples on every machine, so that `make test` of a commit has
one result. `scripts/test --verify` draws a seed, sets it as `IPULSE_SEED` and prints it.
"""

from __future__ import annotations

import os
from typing import Optional

_TEXT = os.environ.get("IPULSE_SEED")
SEED: Optional[int] = int(_TEXT) if _TEXT else None
