"""`ipulse nir import`: a spec and weights of a NIR file."""

from __future__ import annotations

import hashlib
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import nir
import numpy as np
import pytest
import yaml

from ipulse.spec.document.file import read_spec_file
from ipulse_core.nir.discretization import Options
from ipulse_core.nir.importer import import_network
from ipulse_core.registry.versions import lower
from tests.ipulse.cli.conftest import Run

EULER = ("--from", "nir", "--solver", "euler", "--step-ms", "1")


@pytest.fixture
def theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "theirs.nir"
    nir.write(path, chain(3, 2))
    return path


def chain(inputs: int, classes: int, **lif: object) -> nir.NIRGraph:
    ones, zeros = np.ones(4), np.zeros(4)
    constants = {"tau": 0.02 * ones, "r": ones, "v_leak": zeros, "v_threshold": ones, **lif}
    nodes = [
        ("input", nir.Input(input_type={"input": np.array([inputs])})),
        ("w1", nir.Linear(weight=np.ones((4, inputs), np.float32))),
        ("hidden", nir.LIF(**constants)),
        ("w2", nir.Linear(weight=np.ones((classes, 4), np.float32))),
        ("out", nir.LI(tau=np.ones(classes), r=np.ones(classes), v_leak=np.zeros(classes))),
        ("output", nir.Output(output_type={"output": np.array([classes])})),
    ]
    names = [name for name, _ in nodes]
    return nir.NIRGraph(nodes=dict(nodes), edges=list(pairwise(names)))


def assert_equal_network(document: Any, file: Path, **more: Any) -> None:
    """The network of a spec is that of the importer, each number of it, so that it has its bits."""
    found = import_network(file, Options(writer="nir", solver="euler", step_s=0.001))
    network = {**lower(document)["network"]}
    del network["initial"]
    assert network == json.loads(json.dumps({**more, **found.network}))


def test_writes_a_spec_that_names_the_weights(offline: Run, theirs: Path) -> None:
    ran = offline("nir", "import", "theirs.nir", "--to", "mine.yaml", *EULER)
    assert (ran.code, ran.out) == (0, "mine.yaml\n")
    spec = read_spec_file(theirs.parent / "mine.yaml").spec()
    assert (spec.data.kind, spec.network.layers[0].decay) == ("npz", 0.95)
    weights = theirs.parent / "mine.npz"
    assert spec.network.initial is not None
    assert spec.network.initial.file == "mine.npz"
    assert spec.network.initial.sha256 == hashlib.sha256(weights.read_bytes()).hexdigest()
    with np.load(weights, allow_pickle=False) as arrays:
        assert {name: arrays[name].shape for name in arrays.files} == {
            "layer_1": (3, 4),
            "readout": (4, 2),
        }
    again = offline("nir", "import", "theirs.nir", "--to", "mine.yaml", *EULER)
    assert again.code == 2
    assert "exists already" in again.err


def test_images_of_convolutions_have_a_shape(offline: Run, theirs: Path) -> None:
    kernel, ones = np.ones((3, 2, 3, 3), np.float32), np.ones((3, 6, 8))
    constants = {"tau": 0.02 * ones, "r": ones, "v_leak": 0 * ones, "v_threshold": ones}
    nodes = {
        "input": nir.Input(input_type={"input": np.array([2, 6, 8])}),
        "kernel": nir.Conv2d((6, 8), kernel, 1, 1, 1, 1, np.zeros(3, np.float32)),
        "spikes": nir.LIF(**constants),
        "pool": nir.SumPool2d(np.array([2, 2]), np.array([2, 2]), np.array([0, 0])),
        "flat": nir.Flatten({"input": np.array([3, 3, 4])}, 0, -1),
        "matrix": nir.Linear(weight=np.ones((5, 36), np.float32)),
        "out": nir.LI(tau=np.ones(5), r=np.ones(5), v_leak=np.zeros(5)),
        "output": nir.Output(output_type={"output": np.array([5])}),
    }
    nir.write(theirs, nir.NIRGraph(nodes=nodes, edges=list(pairwise(nodes))))
    ran = offline("nir", "import", "theirs.nir", "--json", *EULER)
    assert ran.code == 0, ran.err
    assert ran.json["spec"]["data"]["shape"] == [2, 6, 8]
    assert ran.json["spec"]["version"] == 2
    network = ran.json["spec"]["network"]
    [[connection]] = [layer["connections"] for layer in network["layers"]]
    assert (connection["kind"], connection["padding"]) == ("conv2d", "same")
    assert network["readout"]["connections"][0] == {"kind": "sum_pool", "pool_size": 2}
    assert_equal_network(ran.json["spec"], theirs)
    assert ran.json["arrays"] == {"layer_1": [3, 3, 2, 3], "readout": [36, 5]}


def test_prints_a_spec_without_writing_anything(offline: Run, theirs: Path) -> None:
    ran = offline("nir", "import", "theirs.nir", "--json", *EULER)
    assert ran.code == 0
    assert ran.json["arrays"]["layer_1"] == [3, 4]
    assert ran.json["spec"]["network"]["layers"][0]["neurons"] == 4
    assert [path.name for path in theirs.parent.iterdir()] == ["theirs.nir"]


def test_takes_data_and_training_of_another_spec(offline: Run, theirs: Path) -> None:
    base = theirs.parent / "base.yaml"
    base.write_text(
        "version: 1\nnetwork: {layers: [{neurons: 7}], surrogate: {name: boxcar}}\n"
        "training: {epochs: 3}\n"
    )
    nir.write(theirs, chain(64, 10))
    assert (
        offline("nir", "import", "theirs.nir", "-o", "mine", "--base", "base.yaml", *EULER).code
        == 0
    )
    spec = read_spec_file(theirs.parent / "mine.yaml").spec()
    assert (spec.training.epochs, spec.network.layers[0].neurons) == (3, 4)
    assert spec.network.surrogate.name == "boxcar"
    written = yaml.safe_load((theirs.parent / "mine.yaml").read_text())
    assert written["version"] == 2
    assert_equal_network(written, theirs, surrogate={"name": "boxcar"})
    assert offline("spec", "upgrade", "base.yaml").code == 0
    newer = offline("spec", "upgrade", "base.yaml").out
    base.write_text(newer)
    ran = offline("nir", "import", "theirs.nir", "--json", "--base", "base.yaml", *EULER)
    again = ran.json["spec"]
    del written["network"]["initial"], again["network"]["initial"]
    assert again == written


def test_a_base_must_be_a_valid_spec(offline: Run, theirs: Path) -> None:
    (theirs.parent / "base.yaml").write_text("version: 2\nnetwork: {layers: [{neurons: 0}]}\n")
    ran = offline("nir", "import", "theirs.nir", "-o", "mine", "--base", "base.yaml", *EULER)
    assert ran.code == 2
    assert "base.yaml:2" in ran.err
    assert [path.name for path in theirs.parent.glob("mine*")] == []


@pytest.mark.parametrize(
    ("lif", "message"),
    [({"tau": np.zeros(4)}, "'hidden': tau"), ({"v_threshold": np.full(4, np.nan)}, "'hidden'")],
)
def test_errors_name_the_node(
    offline: Run, theirs: Path, lif: dict[str, object], message: str
) -> None:
    nir.write(theirs, chain(3, 2, **lif))
    ran = offline("nir", "import", "theirs.nir", "--to", "mine.yaml", *EULER)
    assert ran.code == 2
    assert message in ran.err
    assert "Traceback" not in ran.err
    assert [path.name for path in theirs.parent.iterdir()] == ["theirs.nir"]


def test_a_missing_file_is_an_error(offline: Run, theirs: Path) -> None:
    ran = offline("nir", "import", "none.nir", "--to", "mine.yaml")
    assert ran.code == 2
    assert "none.nir" in ran.err


def test_weights_are_removed_where_the_spec_is_not_valid(offline: Run, theirs: Path) -> None:
    """Sixteen hidden layers are the most that a spec has."""
    graph = chain(3, 2)
    extra = {f"n{number}": graph.nodes["hidden"] for number in range(20)}
    names = ["input", "w1", "hidden", *extra, "w2", "out", "output"]
    nodes = {**graph.nodes, **extra}
    nir.write(theirs, nir.NIRGraph(nodes=nodes, edges=list(pairwise(names))))
    ran = offline("nir", "import", "theirs.nir", "--to", "mine.yaml", *EULER)
    assert ran.code == 2
    assert "/network/layers" in ran.err
    assert [path.name for path in theirs.parent.iterdir()] == ["theirs.nir"]


def test_a_file_that_does_not_say_its_writer_asks_for_one(offline: Run, theirs: Path) -> None:
    nir.write(theirs, chain(3, 2, tau=np.full(4, 20.0)))
    ran = offline("nir", "import", "theirs.nir", "--to", "mine.yaml")
    assert ran.code == 2
    assert "ipulse nir import theirs.nir --from norse --step-ms 1 --to mine.yaml" in ran.err
    assert "--from sinabs --to mine.yaml" in ran.err
    assert "--from snntorch" not in ran.err, "snnTorch writes r = tau / dt"
    asked = offline("nir", "import", "theirs.nir", "--from", "sinabs")
    assert asked.code == 2
    assert "--from sinabs --solver exact  # norm_input=True" in asked.err
    assert "--from sinabs --solver unscaled  # norm_input=False" in asked.err
    assert [path.name for path in theirs.parent.iterdir()] == ["theirs.nir"]


@pytest.mark.parametrize("readout", ["LI", "LIF"])
def test_one_layer_with_one_output_is_a_valid_spec(
    offline: Run, theirs: Path, readout: str
) -> None:
    ones = {name: np.ones(1) for name in ("tau", "r", "v_threshold", "v_leak")}
    ones["v_leak"] = np.zeros(1)
    if readout == "LI":
        del ones["v_threshold"]
    nodes = {
        "input": nir.Input(input_type={"input": np.array([3])}),
        "w": nir.Linear(weight=np.ones((1, 3), np.float32)),
        "out": getattr(nir, readout)(**ones),
        "output": nir.Output(output_type={"output": np.array([1])}),
    }
    nir.write(theirs, nir.NIRGraph(nodes=nodes, edges=list(pairwise(nodes))))
    ran = offline("nir", "import", "theirs.nir", "--json", *EULER)
    assert ran.code == 0, ran.err
    [relay] = ran.json["spec"]["network"]["layers"]
    assert (relay["neurons"], relay["trained"]) == (3, False)
    assert_equal_network(ran.json["spec"], theirs)
    assert ran.json["arrays"] == {"layer_1": [3, 3], "readout": [3, 1]}


def test_guessed_data_never_make_a_network_invalid(offline: Run, theirs: Path) -> None:
    nir.write(theirs, chain(64, 10, tau=np.full(4, 1e6)))
    usual = offline("nir", "import", "theirs.nir", "--json", *EULER)
    assert usual.json["spec"]["data"]["kind"] == "digits"
    graph = nir.read(theirs)
    wait = nir.Delay(delay=np.full(4, 0.15))
    names = ["input", "w1", "hidden", "wait", "w2", "out", "output"]
    nodes = {**graph.nodes, "wait": wait}
    nir.write(theirs, nir.NIRGraph(nodes=nodes, edges=list(pairwise(names))))
    late = offline("nir", "import", "theirs.nir", "--json", *EULER)
    assert late.code == 0, late.err
    assert late.json["spec"]["data"]["steps"] > 150
    assert_equal_network(late.json["spec"], theirs)


@pytest.mark.verify
def test_recorded_spikes_are_compared(offline: Run, theirs: Path) -> None:
    """One input alone drives each hidden neuron to 0.05 of its threshold: none ever spikes."""
    recorded = {"inputs": np.ones((5, 2, 3)), "hidden": np.zeros((5, 2, 4))}
    np.savez("spikes.npz", **recorded)
    words = ("nir", "import", "theirs.nir", "--to", "mine.yaml", "--check", "spikes.npz", *EULER)
    ran = offline(*words)
    assert ran.code == 0, ran.err
    assert "hidden: all 0 spikes are equal" in ran.err
    for path in ("mine.yaml", "mine.npz"):
        Path(path).unlink()
    recorded["hidden"][3, 1, 2] = 2
    np.savez("spikes.npz", **recorded)
    ran = offline(*words)
    assert ran.code == 2
    assert "1 values differ" in ran.err
    assert "step 3, sample 1, neuron 2" in ran.err
    assert "up to 2 spikes in a step" in ran.err
    np.savez("spikes.npz", inputs=recorded["inputs"], other=recorded["hidden"])
    ran = offline(*words)
    assert ran.code == 2
    assert "by the names of their nodes, hidden" in ran.err
    assert not Path("mine.yaml").exists()
