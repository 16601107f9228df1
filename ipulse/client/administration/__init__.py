"""Agents, devices, people, projects, tokens and webhooks; most programs never ask for them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import calls as calls


def __getattr__(name: str) -> Any:
    """Imports the calls on first use, which takes a twentieth of the time of `ipulse list`."""
    if name == "calls":
        return import_module(".calls", __name__)
    raise AttributeError(f"module {__name__} has no attribute {name}")
