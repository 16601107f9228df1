"""Sweeps: their calls and resources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ipulse.client.on_first_use import importing

if TYPE_CHECKING:
    from . import calls as calls

__getattr__ = importing(__name__, "calls")
