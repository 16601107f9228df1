"""The spec accepts exactly the engine options of Poplar that the emulator knows."""

from __future__ import annotations

import re
from pathlib import Path

from ipulse.spec.poplar_options import FAMILIES, RUN_COUNT, SWITCHES

EMULATORS_OWN = {"debug.checkBounds", "debug.poisonOutputs"}  # Poplar refuses them
ENGINE = Path(__file__).parents[1] / "emulator/poplar_emulator/engine/session/engine_options.cc"


def listed(name: str) -> set[str]:
    """The texts of an array in the engine's source."""
    array = re.search(rf"\b{name}\[\] = \{{(.*?)\}};", ENGINE.read_text("utf-8"), re.DOTALL)
    assert array, f"no array {name}"
    return set(re.findall(r'"([^"]+)"', array[1]))


def test_engine_and_spec_have_the_same_switches() -> None:
    assert listed("switches") == SWITCHES | EMULATORS_OWN
    assert f'"{RUN_COUNT}"' in ENGINE.read_text("utf-8")


def test_the_engine_takes_every_family_that_a_spec_may_name() -> None:
    assert set(FAMILIES) <= listed("families")
