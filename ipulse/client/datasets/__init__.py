"""Data sets: their calls and resources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ipulse.client.on_first_use import importing

if TYPE_CHECKING:
    from . import calls as calls
    from . import packing as packing

__getattr__ = importing(__name__, "calls", "packing")
