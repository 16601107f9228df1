"""`ipulse crosscheck`, which runs in another process."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ipulse.cli.commands.develop import crosscheck
from tests.ipulse.cli.conftest import Run

SPEC: dict[str, Any] = {
    "version": 1,
    "data": {"kind": "randman", "classes": 2, "units": 6, "steps": 4, "samples_per_class": 4},
    "network": {"layers": [{"neurons": 4}]},
}
ROW = {"differing": 0, "margin": 0.0, "membrane": 1e-7, "gradient": None, "seconds": 0.5}


@pytest.mark.verify
def test_back_ends_that_agree(offline: Run) -> None:
    ran = offline(
        "crosscheck", "--device", "cpu", "--samples", "2", "--json", "-", stdin=json.dumps(SPEC)
    )
    assert ran.code == 0, ran.err
    steps = ran.err.splitlines()[-2:]
    assert steps[0] != steps[1]
    assert all("the one op on cpu" in step and step.endswith(" ...") for step in steps)
    report = ran.json
    assert report["agree"] is True
    assert [row["way"] for row in report["ways"]] == [
        "dense cell",
        "sparse ops in an RNN",
        "one op",
    ]
    assert (report["samples"], report["steps"], report["network"]) == (2, 4, [6, 4, 2])


def test_back_ends_that_do_not_agree(offline: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    ways = [
        {"way": "one op", "device": "cpu", "agrees": False, **ROW},
        {"way": "one op", "device": "emulator", "agrees": False, "failed": "out of memory"},
        {"way": "dense cell", "device": "emulator", "skipped": "nothing to emulate"},
    ]
    shapes = {"network": [6, 4, 2], "samples": 2, "steps": 4, "tiles": 8, "spikes": [3]}
    tolerances = {"margin": 1e-5, "membrane": 1e-5, "gradient": 1e-4}
    report = {**shapes, "tolerances": tolerances, "ways": ways, "agree": False}
    report["notes"] = ["nothing was trained"]
    monkeypatch.setattr(crosscheck, "_run", lambda document, options: report)
    ran = offline("crosscheck", "-", stdin=json.dumps(SPEC))
    assert ran.code == 1
    assert "NO" in ran.out
    assert "not a number" in ran.out
    assert "one op on emulator failed: out of memory" in ran.out
    assert "nothing was trained" in ran.out


def test_an_invalid_spec_is_reported_with_its_place(offline: Run) -> None:
    ran = offline("crosscheck", "-", stdin='{"version": 1, "network": {"layers": []}}')
    assert ran.code == 2
    assert "/network/layers" in ran.err


def test_the_former_name_prints_the_new_one_in_a_line(offline: Run) -> None:
    ran = offline("compare", "spec.yaml")
    assert (ran.code, ran.out) == (2, "")
    [line] = ran.err.splitlines()
    assert "ipulse crosscheck" in line
