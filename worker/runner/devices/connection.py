"""Connection types: which phases an attempt has, and in which order."""

from __future__ import annotations

from typing import Mapping, Tuple

from ipulse.states import Phase

PHASES: Mapping[str, Tuple[Phase, ...]] = {
    # A device that is held while a compiler works.
    "ALWAYS": (Phase.PREPARE, Phase.ACQUIRE, Phase.COMPILE, Phase.RUN, Phase.REPORT),
    "ON_DEMAND": (Phase.PREPARE, Phase.COMPILE, Phase.ACQUIRE, Phase.RUN, Phase.REPORT),
}
