"""`ipulse nir import`: a spec and weights of a NIR file."""

from __future__ import annotations

import hashlib
from itertools import pairwise
from pathlib import Path

import nir
import numpy as np
import pytest

from ipulse.spec.document.file import read_spec_file
from tests.ipulse.cli.conftest import Run


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


def test_writes_a_spec_that_names_the_weights(offline: Run, theirs: Path) -> None:
    ran = offline("nir", "import", "theirs.nir", "--to", "mine.yaml", "--solver", "euler")
    assert (ran.code, ran.out) == (0, "mine.yaml\n")
    assert "1 ms are assumed" in ran.err
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
    again = offline("nir", "import", "theirs.nir", "--to", "mine.yaml")
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
    ran = offline("nir", "import", "theirs.nir", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["spec"]["data"]["shape"] == [2, 6, 8]
    [layer] = ran.json["spec"]["network"]["layers"]
    assert (layer["kind"], layer["padding"], layer["pool"]["kind"]) == ("conv2d", "same", "sum")
    assert ran.json["arrays"] == {"layer_1": [3, 3, 2, 3], "readout": [36, 5]}


def test_prints_a_spec_without_writing_anything(offline: Run, theirs: Path) -> None:
    ran = offline("nir", "import", "theirs.nir", "--json")
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
    assert offline("nir", "import", "theirs.nir", "-o", "mine", "--base", "base.yaml").code == 0
    spec = read_spec_file(theirs.parent / "mine.yaml").spec()
    assert (spec.training.epochs, spec.network.layers[0].neurons) == (3, 4)
    assert spec.network.surrogate.name == "boxcar"


@pytest.mark.parametrize(
    ("lif", "message"),
    [({"tau": np.zeros(4)}, "'hidden': tau"), ({"v_threshold": np.full(4, np.nan)}, "'hidden'")],
)
def test_errors_name_the_node(
    offline: Run, theirs: Path, lif: dict[str, object], message: str
) -> None:
    nir.write(theirs, chain(3, 2, **lif))
    ran = offline("nir", "import", "theirs.nir", "--to", "mine.yaml")
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
    ran = offline("nir", "import", "theirs.nir", "--to", "mine.yaml")
    assert ran.code == 2
    assert "/network/layers" in ran.err
    assert [path.name for path in theirs.parent.iterdir()] == ["theirs.nir"]
