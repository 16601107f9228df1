"""Connection types, which determine the phases of an attempt and their order."""

from __future__ import annotations

from typing import Mapping, Tuple

from ipulse_core.states import Phase

_COMPILES_ONLY = (Phase.PREPARE, Phase.COMPILE, Phase.REPORT)

PHASES: Mapping[str, Tuple[Phase, ...]] = {
    # The device is attached while the program is compiled.
    "ALWAYS": (Phase.PREPARE, Phase.ACQUIRE, Phase.COMPILE, Phase.RUN, Phase.REPORT),
    "ON_DEMAND": (Phase.PREPARE, Phase.COMPILE, Phase.ACQUIRE, Phase.RUN, Phase.REPORT),
    "PRE_COMPILE": _COMPILES_ONLY,
    "NEVER": _COMPILES_ONLY,
}


def attaches(connection: str) -> bool:
    """Return whether a connection type ever attaches a device."""
    return Phase.ACQUIRE in PHASES[connection]
