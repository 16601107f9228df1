"""The device `emulator`: the same runner as on a CPU, with the Poplar op on emulated tiles."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Dict

import numpy as np
import pytest

from .conftest import Start
from .driven_runner import DrivenRunner
from .emulated import ipu_spec

TILES = 16


@pytest.fixture(scope="module")
def trained(
    start_runner: Start, tmp_path_factory: pytest.TempPathFactory
) -> Dict[str, tuple[DrivenRunner, Path]]:
    """The same spec on both devices, by real runners."""
    found = {}
    for kind, options in (("cpu", {}), ("emulator", {"tiles": TILES})):
        runner, directory = start_runner(), tmp_path_factory.mktemp(kind) / "work"
        runner.assign(directory, ipu_spec({"kind": kind, **options}))
        found[kind] = (runner, directory)
    for runner, _ in found.values():
        assert runner.finish() == 0, runner.printed()
        assert runner.events[-1]["reason"] == "completed", runner.events[-1]
    return found


def test_learns_what_a_cpu_learns(trained: Dict[str, Any]) -> None:
    """Batches of 12 out of 32 samples: the last one of an epoch is filled up."""
    weights = [dict(np.load(directory / "weights.npz")) for _, directory in trained.values()]
    assert weights[0].keys() == weights[1].keys()
    for name, on_cpu in weights[0].items():
        np.testing.assert_allclose(weights[1][name], on_cpu, rtol=1e-3, atol=1e-5, err_msg=name)
    last = [runner.events[-1]["summary"] for runner, _ in trained.values()]
    for figure in ("loss", "accuracy", "test_loss", "test_accuracy", "dropped_spikes", "steps"):
        assert last[1][figure] == pytest.approx(last[0][figure], rel=1e-4), figure


def test_compiles_before_it_attaches(trained: Dict[str, Any]) -> None:
    runner, _ = trained["emulator"]
    said = [event["message"].split(" ")[0] for event in runner.kinds("log")]
    # Another Python's run of this test may have left the executable in the cache.
    ready = "compiled" if "compiled" in said else "loaded"
    assert said.index(ready) < said.index("attached")
    phases = [event["phase"] for event in runner.kinds("phase")]
    assert phases == ["prepare", "compile", "acquire", "run", "report"]


def test_leaves_the_profile_of_every_tile(trained: Dict[str, Any]) -> None:
    runner, directory = trained["emulator"]
    (artifact,) = [e for e in runner.kinds("artifact") if e["role"] == "poplar_profile"]
    profile = json.loads((directory / artifact["path"]).read_text())
    assert profile["emulated"] is True
    assert len(profile["compilation"]["tiles"]) == TILES
    assert profile["execution"]["runs"]
    ours = json.loads((directory / "profile.json").read_text())
    assert ours["compilation"]["target"]["emulated"] is True
    assert ours["compilation"]["target"]["tilesPerIpu"] == TILES
    parts = {p["name"]: p for p in ours["execution"]["runs"][0]["steps"]["parts"]}
    assert parts["forward"]["seconds"]["total"] > 0
    assert parts["backward"]["seconds"]["total"] > 0
    report = (directory / "report.html").read_text(encoding="utf-8")
    assert "On the tiles" in report
    assert "stage0/integrate" in report
    assert "On the tiles" not in (trained["cpu"][1] / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("tiles", "neurons", "reason", "words"),
    [
        (1, 40, "runner_error", "/device: LIF op: 3 layers on 1 tiles of an IPU"),
        (4, 900, "device_out_of_memory", "graph_memory_allocation_error"),
    ],
)
def test_what_does_not_fit_is_refused_before_it_runs(
    start_runner: Start, tmp_path: Path, tiles: int, neurons: int, reason: str, words: str
) -> None:
    runner = start_runner()
    network = {"layers": [{"neurons": neurons}, {"neurons": neurons}]}
    device = {"kind": "emulator", "tiles": tiles}
    runner.assign(tmp_path / "work", ipu_spec(device, network=network))
    assert runner.finish() == 0
    done = runner.events[-1]
    assert (done["reason"], words in done["message"]) == (reason, True), done
    assert runner.kinds("phase")[-1]["phase"] == "compile"
