"""The former place of names of `ipulse.client`; see `ipulse.deprecated`."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    from ipulse.deprecated import former_name

    return former_name(__name__, name)
