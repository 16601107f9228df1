"""Tells the kind of a value by classes that need not be imported.

The models of specs take 0.3 s of processor time to import, and most calls have no use for them.
"""

from __future__ import annotations

import sys
from typing import Any


def is_instance(value: Any, module: str, *names: str) -> bool:
    """Return whether a value has one of the classes of a module, which is not imported for this."""
    loaded = sys.modules.get(module)
    return loaded is not None and isinstance(value, tuple(getattr(loaded, n) for n in names))
