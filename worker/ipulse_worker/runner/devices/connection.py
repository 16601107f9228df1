"""Connection types: which phases an attempt has, and in which order."""

from __future__ import annotations

from typing import Mapping, Tuple

from ipulse_core.states import Phase

_COMPILES_ONLY = (Phase.PREPARE, Phase.COMPILE, Phase.REPORT)

PHASES: Mapping[str, Tuple[Phase, ...]] = {
    # A device that is held while a compiler works.
    "ALWAYS": (Phase.PREPARE, Phase.ACQUIRE, Phase.COMPILE, Phase.RUN, Phase.REPORT),
    "ON_DEMAND": (Phase.PREPARE, Phase.COMPILE, Phase.ACQUIRE, Phase.RUN, Phase.REPORT),
    "PRE_COMPILE": _COMPILES_ONLY,
    "NEVER": _COMPILES_ONLY,
}


def attaches(connection: str) -> bool:
    """Whether that connection ever has a device."""
    return Phase.ACQUIRE in PHASES[connection]
