"""Conditions on the profile in a spec."""

from __future__ import annotations

from typing import Any

import pytest

from ipulse.spec import parse_spec
from ipulse_core.errors import InvalidSpec

EMULATOR = {"kind": "emulator"}
REPORTS = {"engine_options": {"autoReport.all": "true"}}


def spec(gates: list[str], device: dict[str, Any]) -> dict[str, Any]:
    network = {"layers": [{"neurons": 8}]}
    return {"version": 1, "network": network, "device": device, "profile": {"gates": gates}}


@pytest.mark.parametrize("device", [EMULATOR, {"kind": "ipu", **REPORTS}])
def test_gates_are_kept_as_they_are_written(device: dict[str, Any]) -> None:
    gates = ["cycles <= 5e6", "max_tile_memory<600KiB", "tile_balance>0.5"]
    assert parse_spec(spec(gates, device)).profile.gates == tuple(gates)


@pytest.mark.parametrize(
    ("gates", "device", "pointer", "words"),
    [
        (["cycles<1", "cycle<1"], EMULATOR, "/profile/gates/1", "max_tile_memory"),
        (["cycles>+5%"], EMULATOR, "/profile/gates/0", "change"),
        (["cycles<5%"], EMULATOR, "/profile/gates/0", "change"),
        (["cycles<nan"], EMULATOR, "/profile/gates/0", "such as"),
        (["tile_balance<1KiB"], EMULATOR, "/profile/gates/0", "no unit"),
        (["cycles<1"], {"kind": "cpu"}, "/profile/gates", "emulator"),
        (["cycles<1"], {"kind": "ipu"}, "/profile/gates", "autoReport.all"),
        (["cycles<1"], {**EMULATOR, "connection_type": "NEVER"}, "/profile/gates", "ON_DEMAND"),
    ],
)
def test_gates_that_cannot_be_checked_are_refused(
    gates: list[str], device: dict[str, Any], pointer: str, words: str
) -> None:
    with pytest.raises(InvalidSpec) as caught:
        parse_spec(spec(gates, device))
    (problem,) = caught.value.problems
    assert problem.pointer == pointer
    assert words in problem.detail


def test_no_gates_need_nothing() -> None:
    assert parse_spec(spec([], {"kind": "cpu"})).profile.gates == ()
