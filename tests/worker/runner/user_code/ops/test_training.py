"""Trainings of networks with custom ops."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, Dict, Mapping

import numpy as np
import pytest

from ipulse_core.pva.layers import layer_of
from ipulse_core.pva.report import open_report
from ipulse_worker.runner.training import checkpoint
from ipulse_worker.runner.user_code.failure import ProgramFailure
from ipulse_worker.runner.work_dir import WorkDir
from tests.worker.runner.attempts import FinishedAttempt, attempt
from tests.worker.runner.user_code.ops.packages import Packed, layer, packed, project
from tests.worker.runner.user_code.ops.running_op import gain, running, spikes

ROOT = Path(__file__).resolve().parents[5]

pytestmark = [
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed"),
    pytest.mark.usefixtures("threads_are_set"),
]


def spec(package: Packed, **changes: Any) -> Dict[str, Any]:
    return {
        "version": 1,
        "data": {"kind": "digits", "steps": 8, "samples": 96},
        "network": {
            "layers": [{"neurons": 24}, layer(package.reference, 6, width=4), {"neurons": 12}]
        },
        "training": {"epochs": 1, "batch_size": 16},
        "device": {"kind": "cpu"},
        **changes,
    }


def trained(
    folder: Path, package: Packed, assigned: Mapping[str, Any] = {}, **changes: Any
) -> FinishedAttempt:
    document = spec(package, **changes)
    ended = attempt(folder, document, **{"ops": {package.digest: str(package.path)}, **assigned})
    assert ended.done["reason"] == "completed", ended.log
    return ended


def weights(ended: FinishedAttempt) -> Dict[str, np.ndarray]:
    with np.load(str(ended.directory / "weights.npz")) as arrays:
        return dict(arrays)


@pytest.mark.old_python
def test_kernel_reference_and_emulator_train_alike(tmp_path: Path) -> None:
    with_kernel = packed(project(tmp_path / "kernel"))
    without = packed(project(tmp_path / "reference", kernel=None))
    by_kernel = trained(tmp_path / "a", with_kernel)
    found = weights(by_kernel)
    assert set(found) == {"layer_1", "layer_2.gain", "layer_3", "readout"}
    assert found["layer_2.gain"].shape == (24,)
    assert len(np.unique(found["layer_2.gain"])) > 1  # they began with ones
    assert (by_kernel.directory / "report.html").stat().st_size > 0
    by_reference = weights(trained(tmp_path / "b", without))
    for name, array in found.items():
        np.testing.assert_array_equal(array, by_reference[name])
    device = {"kind": "emulator", "tiles": 4}
    emulated = trained(tmp_path / "c", with_kernel, device=device)
    on_emulator = weights(emulated)
    for name, array in found.items():
        np.testing.assert_allclose(on_emulator[name], array, rtol=0, atol=1e-3)
    check_profile(emulated.directory)


@pytest.mark.sample(0)
def test_gradients_of_the_layers_beside_an_op_are_truncated(tmp_path: Path) -> None:
    package = packed(project(tmp_path / "kernel"))
    whole = weights(trained(tmp_path / "a", package))
    training = {"epochs": 1, "batch_size": 16, "truncate_steps": 2}
    ended = trained(tmp_path / "b", package, training=training)
    assert any("layers[1] is a custom op" in line for line in ended.log)
    cut = weights(ended)
    for name in ("layer_1", "layer_3", "readout"):
        assert np.any(cut[name] != whole[name]), name


def check_profile(directory: Path) -> None:
    """The profile has the steps and vertices of all layers and of the op, and their tiles."""
    report = open_report(directory / "poplar_profile.json")
    steps = {total.program.label: total for total in report.execution.totals}
    for name in ("layer2/pool_op/pool", "backward/layer2/pool_op/pool_gradient"):
        assert steps[name].computeCycles > 0
        assert steps[name].executions > 0
    layers = {layer_of(name) for name in steps}
    assert {"layer 1", "layer 2", "layer 3", "readout"} <= layers
    vertices = {v.type.name for cs in report.compilation.computeSets for v in cs.vertices}
    assert {"Pool", "PoolGradient"} <= vertices
    document = json.loads((directory / "poplar_profile.json").read_text())
    execution = document["execution"]
    kinds = ("syncCycles", "exchangeCycles", "computeCycles", "hostCycles")
    total = sum(each[kind] for each in execution["totals"] for kind in kinds)
    assert total == pytest.approx(execution["totalCycles"]["total"])
    assert len(execution["computeCyclesByTile"]) == 4
    for tile in document["compilation"]["tiles"]:
        memory = tile["memory"]
        parts = sum(category["total"] for category in memory["category"].values())
        assert parts == memory["total"]["excludingGaps"]


def test_an_op_without_a_profile_runs_on(tmp_path: Path) -> None:
    with running(tmp_path) as ops:  # not on tiles
        with pytest.raises(ProgramFailure, match="no profile"):
            ops.profile(1)
        assert ops.forward(1, spikes(), [gain()]).any()


@pytest.mark.sample(0)
def test_several_ops_are_trained_together(tmp_path: Path) -> None:
    one = packed(project(tmp_path / "one"))
    other = packed(project(tmp_path / "other", kernel=None, tiles=8))
    layers = [
        {"neurons": 24},
        layer(one.reference, 12, width=2),
        layer(other.reference, 6, width=2),
        {"neurons": 12},
        layer(one.reference, 6, width=2),
    ]
    ops = {package.digest: str(package.path) for package in (one, other)}
    changes = {"network": {"layers": layers}}
    parent = trained(tmp_path / "a", one, {"ops": ops}, **changes)
    found = weights(parent)
    shapes = {name: array.shape for name, array in found.items() if "." in name}
    assert shapes == {"layer_2.gain": (24,), "layer_3.gain": (12,), "layer_5.gain": (12,)}
    start = {"start_from": str(parent.directory / "weights.npz"), "start_mode": "weights"}
    for each in layers[1:3]:
        each["trainable"] = False
    child = weights(trained(tmp_path / "b", one, {"ops": ops, **start}, **changes))
    for name in ("layer_2.gain", "layer_3.gain"):
        np.testing.assert_array_equal(child[name], found[name])
    assert (child["layer_5.gain"] != found["layer_5.gain"]).any()


@pytest.mark.sample(0)
def test_a_continued_training_has_the_bits_of_a_longer_one(tmp_path: Path) -> None:
    package = packed(project(tmp_path / "op"))
    short, long = ({"epochs": epochs, "batch_size": 16} for epochs in (1, 2))
    parent = trained(tmp_path / "parent", package, training=short)
    start = {"start_from": str(parent.directory / "checkpoint.npz"), "start_mode": "continue"}
    child = weights(trained(tmp_path / "child", package, start, training=long))
    whole = weights(trained(tmp_path / "whole", package, training=long))
    for name, array in whole.items():
        np.testing.assert_array_equal(child[name], array)


def test_a_resumed_training_has_the_bits_of_one_that_was_not_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = packed(project(tmp_path / "op"))
    first = tmp_path / "first.npz"
    save = checkpoint.save

    def keep_first(state: Any, work_dir: WorkDir, name: str) -> None:
        save(state, work_dir, name)
        if not first.exists():
            shutil.copy(work_dir.path / name, first)

    monkeypatch.setattr(checkpoint, "save", keep_first)
    training = {"epochs": 2, "batch_size": 16, "checkpoint_epochs": 1}
    for number, device in enumerate(({"kind": "cpu"}, {"kind": "emulator", "tiles": 4})):
        if first.exists():
            first.unlink()
        changes = {"training": training, "device": device}
        whole = weights(trained(tmp_path / f"whole{number}", package, **changes))
        resumed = trained(
            tmp_path / f"resumed{number}", package, {"checkpoint": str(first)}, **changes
        )
        assert any("resumed from the checkpoint" in line for line in resumed.log)
        for name, array in weights(resumed).items():
            np.testing.assert_array_equal(array, whole[name])


@pytest.mark.verify
@pytest.mark.parametrize("delay", [0, 1])
def test_an_op_may_be_first_last_and_twice(tmp_path: Path, delay: int) -> None:
    package = packed(project(tmp_path / "op"))
    stacks = [
        [layer(package.reference, 32), {"neurons": 12}],
        [{"neurons": 24}, layer(package.reference, 12)],
        [layer(package.reference, 32), layer(package.reference, 16), {"neurons": 8}],
    ]
    for number, stack in enumerate(stacks):
        network = {"layers": stack, "delay": delay}
        readout = {"kind": "spiking"}
        trained(tmp_path / f"leaky{number}", package, network=network)
        trained(
            tmp_path / f"spiking{number}",
            package,
            network={**network, "readout": readout},
            training={"epochs": 1, "batch_size": 16, "loss": "spike_count_cross_entropy"},
        )


@pytest.mark.verify
def test_a_failing_op_ends_the_training_with_its_reason(tmp_path: Path) -> None:
    text = (project(tmp_path / "good") / "reference.py").read_text()
    broken = text.replace(".astype(inputs[0].dtype)]", " * 0.5]")
    assert broken != text
    package = packed(project(tmp_path / "op", {"reference.py": broken}, kernel=None))
    ended = attempt(tmp_path / "a", spec(package), ops={package.digest: str(package.path)})
    assert ended.done["reason"] == "program_failed"
    assert "each 0 or 1" in ended.done["message"]


def test_without_its_package_nothing_runs(tmp_path: Path) -> None:
    package = packed(project(tmp_path / "op"))
    ended = attempt(tmp_path / "a", spec(package))
    assert ended.done["reason"] == "runner_error"
    assert "not downloaded" in ended.done["message"]


def test_leaky_integrators_learn_their_time_constants(tmp_path: Path) -> None:
    package = packed(ROOT / "examples" / "ops" / "leaky", "leaky", tmp_path)
    layers = [{"neurons": 24}, {"kind": "op", "op": package.reference, "neurons": 12}]
    training = {"epochs": 2, "batch_size": 16, "optimizer": {"kind": "adam", "learning_rate": 0.05}}
    found = weights(trained(tmp_path / "a", package, network={"layers": layers}, training=training))
    assert found["layer_2.weights"].shape == (24, 12)
    decay = found["layer_2.decay"]
    assert decay.shape == (12,)
    assert 0 <= decay.min() <= decay.max() <= np.float32(0.999)
    short = {"epochs": 1, "batch_size": 16, "optimizer": {"kind": "adam", "learning_rate": 1e-9}}
    before = weights(trained(tmp_path / "b", package, network={"layers": layers}, training=short))
    assert (decay != before["layer_2.decay"]).all()
