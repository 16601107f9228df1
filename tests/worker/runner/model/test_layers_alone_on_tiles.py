"""Jobs with dropout, residual additions and delays on emulated tiles: as on the CPU."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Dict

import numpy as np
import pytest

from tests.worker.runner.attempts import FinishedAttempt, attempt
from tests.worker.runner.model.test_equations import spec, weights

pytestmark = pytest.mark.usefixtures("threads_are_set")

TILES = {"kind": "emulator", "tiles": 16}
SHORT = {"kind": "digits", "samples": 64, "steps": 6}
WIDE = {"neurons": 10, "second_threshold": 0.3}
NETWORKS: Dict[str, Dict[str, Any]] = {
    "dropout": {"layers": [{**WIDE, "dropout": 0.2}, {"neurons": 8, "recurrent": True}]},
    "residual": {"layers": [WIDE, WIDE, {**WIDE, "residual": [1], "capacity": 4}]},
    "delay": {"layers": [{"neurons": 8, "delay": 1}, {"neurons": 6, "delay": 0}], "delay": 2},
    "delays": {
        "layers": [WIDE, {"neurons": 6, "delays": {"longest": 2}}],
        "readout": {"delays": {"longest": 2, "per": "neuron"}},
    },
    "adaptation beside dropout": {
        "layers": [{**WIDE, "adaptation": {"strength": 0.3}}, {"neurons": 8, "dropout": 0.2}]
    },
    "standardised": {"layers": [{**WIDE, "standardised": True}]},
}


def job(directory: Path, network: Dict[str, Any], **changes: Any) -> FinishedAttempt:
    more = dict(network)
    document = {"epochs": 1, "data": SHORT, "network": more, **changes}
    return attempt(directory, spec(more.pop("layers"), **document))


def both(directory: Path, network: Dict[str, Any]) -> FinishedAttempt:
    """Compare the weights of a job with those of the CPU; return the job on tiles."""
    on_cpu = job(directory / "cpu", network)
    on_tiles = job(directory / "tiles", network, device=TILES)
    found, expected = weights(on_tiles), weights(on_cpu)
    assert sorted(found) == sorted(expected)
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, rtol=0, atol=1e-4, err_msg=name)
    wanted = on_cpu.done["summary"]["test_loss"]
    assert on_tiles.done["summary"]["test_loss"] == pytest.approx(wanted, rel=1e-4)
    return on_tiles


def test_a_job_with_all_of_them(tmp_path: Path) -> None:
    layers = [{**WIDE, "dropout": 0.2}, WIDE]
    readout = {"residual": [1], "dropout": 0.1, "delays": {"longest": 1}}
    on_tiles = both(tmp_path, {"layers": layers, "readout": readout, "delay": 1})
    profile = json.loads((on_tiles.directory / "poplar_profile.json").read_text("utf-8"))
    sets = {each["name"].split("/")[0] for each in profile["compilation"]["computeSets"]}
    assert sets >= {"layer1", "layer2", "readout"}
    assert (on_tiles.directory / "report.html").stat().st_size > 10_000


@pytest.mark.verify
@pytest.mark.parametrize("name", NETWORKS)
def test_each_of_them(tmp_path: Path, name: str) -> None:
    both(tmp_path, NETWORKS[name])
