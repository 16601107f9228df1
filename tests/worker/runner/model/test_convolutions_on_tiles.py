"""Jobs with convolutions of LIF neurons on emulated tiles, and on IPUs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Dict

import numpy as np
import pytest

from ipulse_worker.runner.backends import emulator
from tests.worker.runner.attempts import FinishedAttempt, attempt
from tests.worker.runner.model.test_conv_equations import OWN as ADAPTIVE
from tests.worker.runner.model.test_equations import spec, weights

pytestmark = pytest.mark.usefixtures("threads_are_set")

TILES = {"kind": "emulator", "tiles": 16}
SHORT = {"kind": "digits", "samples": 64, "steps": 6}
CONV: Dict[str, Any] = {"kind": "conv2d", "filters": 4, "kernel_size": 3}
POOLED = {**CONV, "padding": "same", "bias": True, "pool": {"kind": "average", "pool_size": 3}}
GATED = {**CONV, "kernel_size": [2, 1], "second_threshold": 0.3}
WIDE = {"neurons": 8, "second_threshold": 0.3}
STACKS: Dict[str, Dict[str, Any]] = {
    "before the readout": {"layers": [{**POOLED, "second_threshold": 0.2}]},
    "before a spiking readout": {"layers": [POOLED, GATED], "readout": {"kind": "spiking"}},
    "before layers with few slots": {
        "layers": [POOLED, {"neurons": 8, "capacity": 3, "policy": "cyclic"}, {"neurons": 6}],
        "reset": "none",
    },
    "quantised": {
        "layers": [{**POOLED, "quantisation": {"bits": 4}}, {"neurons": 8}],
        "readout": {"quantisation": {"bits": 8}},
    },
    "before equations": {"layers": [POOLED, {**ADAPTIVE, "kernel_size": 2}, {"neurons": 6}]},
    "before dropout and residual additions": {
        "layers": [POOLED, {**WIDE, "dropout": 0.2}, WIDE, {**WIDE, "residual": [2]}],
        "readout": {"dropout": 0.1},
    },
    "before a readout with dropout": {"layers": [POOLED], "readout": {"dropout": 0.2}},
    "standardised": {
        "layers": [
            {**POOLED, "standardised": True},
            {**GATED, "standardised": True, "quantisation": {"bits": 8}},
            {**WIDE, "standardised": True},
        ]
    },
    "equations before dropout": {"layers": [ADAPTIVE, {**WIDE, "dropout": 0.2}, {"neurons": 6}]},
    "behind equations": {"layers": [ADAPTIVE, GATED, {"neurons": 6}], "reset": "subtract"},
}


def job(directory: Path, network: Dict[str, Any], **changes: Any) -> FinishedAttempt:
    """Run a job of one epoch, unless `changes` has others."""
    more = dict(network)
    return attempt(
        directory,
        spec(more.pop("layers"), **{"epochs": 1, "data": SHORT, "network": more, **changes}),
    )


def assert_close(found: Dict[str, np.ndarray], expected: Dict[str, np.ndarray]) -> None:
    """Compare weights: the convolutions have the bits of the CPU, the layers behind them not."""
    assert sorted(found) == sorted(expected)
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, rtol=0, atol=1e-4, err_msg=name)


def test_tiles_train_as_the_cpu_does(tmp_path: Path) -> None:
    network = {"layers": [POOLED, GATED, {"neurons": 8}], "reset": "subtract", "delay": 1}
    on_cpu = job(tmp_path / "cpu", network)
    on_tiles = job(tmp_path / "tiles", network, device=TILES)
    assert_close(weights(on_tiles), weights(on_cpu))
    for figure in ("loss", "test_loss", "dropped_spikes"):
        expected = on_cpu.done["summary"][figure]
        assert on_tiles.done["summary"][figure] == pytest.approx(expected, rel=1e-5), figure
    for line in (on_tiles.directory / "metrics.jsonl").read_text("utf-8").splitlines():
        metrics = json.loads(line)
        assert metrics["gradient_set/1"] == 1
        assert 0 < metrics["gradient_set/2"] < 1
    profile = json.loads((on_tiles.directory / "poplar_profile.json").read_text("utf-8"))
    ran = {run["name"] for run in profile["execution"]["runs"]}
    assert ran >= {f"layer{number}/forward" for number in (1, 2)}
    assert ran >= {f"backward/layer{number}" for number in (1, 2)}
    sets = {each["name"].split("/")[0] for each in profile["compilation"]["computeSets"]}
    assert sets >= {"layer1", "layer2", "all_layers"}
    assert (on_tiles.directory / "report.html").stat().st_size > 10_000


def test_layers_with_dropout_are_programs_of_their_own(tmp_path: Path) -> None:
    network = {"layers": [POOLED, {**WIDE, "dropout": 0.2}, {"neurons": 6}]}
    on_cpu = job(tmp_path / "cpu", network)
    on_tiles = job(tmp_path / "tiles", network, device=TILES)
    assert_close(weights(on_tiles), weights(on_cpu))
    profile = json.loads((on_tiles.directory / "poplar_profile.json").read_text("utf-8"))
    sets = {each["name"].split("/")[0] for each in profile["compilation"]["computeSets"]}
    assert sets >= {"layer1", "layer2", "layer3", "readout"}


@pytest.mark.verify
@pytest.mark.parametrize("delay", [0, 1])
@pytest.mark.parametrize("name", STACKS)
def test_every_network_trains_as_on_the_cpu(tmp_path: Path, name: str, delay: int) -> None:
    network = {**STACKS[name], "delay": delay}
    changes: Dict[str, Any] = {}
    if network.get("readout", {}).get("kind") == "spiking":
        loss = {"loss": "spike_count_cross_entropy"}
        changes["training"] = {"epochs": 1, "batch_size": 20, **loss}  # the last one is padded
    on_cpu = job(tmp_path / "cpu", network, **changes)
    on_tiles = job(tmp_path / "tiles", network, device=TILES, **changes)
    assert_close(weights(on_tiles), weights(on_cpu))


@pytest.mark.verify
def test_a_second_threshold_that_rises_and_bounds_on_activity(tmp_path: Path) -> None:
    layers = [{**CONV, "second_threshold": 0.5, "pool": {}}, {"neurons": 6}]
    training = {
        "epochs": 3,
        "batch_size": 16,
        "regularisers": [{"kind": "upper", "strength": 0.1, "spikes": 0.5}],
        "second_threshold_ramp": {"epochs": 2, "start": -0.5},
    }
    both = [
        job(tmp_path / device["kind"], {"layers": layers}, training=training, device=device)
        for device in ({"kind": "cpu"}, TILES)
    ]
    assert_close(weights(both[1]), weights(both[0]))
    shares = []
    for each in both:
        lines = (each.directory / "metrics.jsonl").read_text("utf-8").splitlines()
        shares.append([json.loads(line)["gradient_set/1"] for line in lines])
    np.testing.assert_allclose(shares[1], shares[0], rtol=1e-3)
    assert shares[1][0] > shares[1][-1]


@pytest.mark.verify
def test_a_job_that_continues_is_one_longer_job(tmp_path: Path) -> None:
    network = {"layers": [POOLED, GATED, {"neurons": 6}]}
    whole = weights(job(tmp_path / "whole", network, epochs=2, device=TILES))
    first = job(tmp_path / "first", network, device=TILES)
    start = {"start_from": str(first.directory / "checkpoint.npz"), "start_mode": "continue"}
    document = spec(network["layers"], epochs=2, data=SHORT, device=TILES)
    for name, array in weights(attempt(tmp_path / "second", document, **start)).items():
        assert array.tobytes() == whole[name].tobytes(), name


@pytest.mark.verify
def test_programs_that_were_compiled_before_are_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = emulator.ExecutableCache
    monkeypatch.setattr(emulator, "ExecutableCache", lambda warn: cache(warn, tmp_path / "kept"))
    network = {"layers": [POOLED, {"neurons": 6}]}
    before = job(tmp_path / "before", network, device={**TILES, "connection_type": "PRE_COMPILE"})
    assert before.done["reason"] == "completed", before.done
    assert not (before.directory / "weights.npz").exists()
    after = job(tmp_path / "after", network, device=TILES)
    weights(after)
    assert any(line.startswith("loaded from") for line in after.trace), after.trace


@pytest.mark.verify
def test_lists_that_no_tile_holds_end_the_job(tmp_path: Path) -> None:
    device = {**TILES, "connection_type": "NEVER"}
    found = []
    for name, filters in (("narrow", 2), ("wide", 512)):
        layers = [{**POOLED, "filters": filters}, {"neurons": 6}]
        found.append(job(tmp_path / name, {"layers": layers}, device=device).done["reason"])
    assert found == ["completed", "device_out_of_memory"]
