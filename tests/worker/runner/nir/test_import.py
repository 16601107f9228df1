"""Graphs of others: nodes that become layers, and errors that name the node."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

import h5py
import nir
import numpy as np
import pytest

from ipulse_worker.nir.discretization import Options
from ipulse_worker.nir.errors import NirInvalid
from ipulse_worker.nir.hdf5_file import NirNode
from ipulse_worker.nir.importer import ImportedNetwork, import_network
from ipulse_worker.nir.linear_nodes import map_of

SEED = 33
Edges = List[Tuple[str, str]]


def ones(neurons: Any) -> np.ndarray:
    return np.ones(neurons)


def lif(neurons: Any = 4, **fields: Any) -> Optional[nir.LIF]:
    given = {"tau": 0.02 * ones(neurons), "r": ones(neurons), "v_leak": 0 * ones(neurons)}
    if "v_reset" in fields and "v_reset" not in nir.LIF.__dataclass_fields__:
        return None  # nir on Python 3.8 writes no v_reset
    return nir.LIF(**{**given, "v_threshold": ones(neurons), **fields})


def li(neurons: Any = 2, **fields: Any) -> nir.LI:
    return nir.LI(
        **{"tau": 0.02 * ones(neurons), "r": ones(neurons), "v_leak": 0 * ones(neurons), **fields}
    )


def linear(inputs: int, outputs: int) -> nir.Linear:
    random = np.random.RandomState(SEED)
    return nir.Linear(weight=random.randn(outputs, inputs).astype(np.float32))


def source(*shape: int) -> nir.Input:
    return nir.Input(input_type={"input": np.array(shape)})


def sink(*shape: int) -> nir.Output:
    return nir.Output(output_type={"output": np.array(shape)})


def plain(**changes: Any) -> Dict[str, Any]:
    nodes = {
        "input": source(3),
        "w1": linear(3, 4),
        "n1": lif(4),
        "w2": linear(4, 2),
        "n2": li(2),
        "output": sink(2),
    }
    return {**nodes, **changes}


CHAIN = ["input", "w1", "n1", "w2", "n2", "output"]


def chain(*names: str) -> Edges:
    return list(zip(names, names[1:]))


def graph_of(nodes: Dict[str, Any], edges: Edges) -> nir.NIRGraph:
    try:
        return nir.NIRGraph(nodes=nodes, edges=edges, type_check=False)
    except TypeError:  # releases that check nothing
        return nir.NIRGraph(nodes=nodes, edges=edges)


def imported(folder: Path, nodes: Dict[str, Any], edges: Edges, **options: Any) -> ImportedNetwork:
    path = folder / "theirs.nir"
    if None in nodes.values():
        pytest.skip("this release of nir writes no v_reset")
    nir.write(str(path), graph_of(nodes, edges))
    return import_network(path, Options(**options))


def test_time_constants_follow_the_solver(tmp_path: Path) -> None:
    exact = imported(tmp_path, plain(), chain(*CHAIN))
    assert exact.network["layers"][0]["decay"] == pytest.approx(np.exp(-0.001 / 0.02), rel=1e-14)
    assert any("1 ms are assumed" in note for note in exact.notes)
    euler = imported(tmp_path, plain(), chain(*CHAIN), solver="euler", step_s=0.001)
    assert euler.network["layers"][0]["decay"] == 0.95
    assert euler.notes == []
    unscaled = imported(tmp_path, plain(), chain(*CHAIN), solver="unscaled", step_s=0.001)
    layer = unscaled.network["layers"][0]
    assert layer["gain"] * (1 - layer["decay"]) == pytest.approx(1.0)


def test_resistances_by_neuron_are_multiplied_into_weights(tmp_path: Path) -> None:
    r = np.array([1.0, 2.0, 3.0, -4.0])
    found = imported(tmp_path, plain(n1=lif(4, r=r)), chain(*CHAIN))
    assert found.network["layers"][0]["gain"] == 1.0
    weight = plain()["w1"].weight
    np.testing.assert_allclose(found.weights["layer_1"], (weight * r[:, None]).T, rtol=1e-6)


def test_leak_is_a_shift_where_the_reset_is_there_and_a_bias_elsewhere(tmp_path: Path) -> None:
    leak = 0.25 * ones(4)
    shifted = imported(tmp_path, plain(n1=lif(4, v_leak=leak, v_reset=leak)), chain(*CHAIN))
    assert shifted.network["layers"][0]["threshold"] == 0.75
    biased = imported(tmp_path, plain(n1=lif(4, v_leak=leak, r=2 * ones(4))), chain(*CHAIN))
    assert biased.network["layers"][0]["threshold"] == 1.0
    np.testing.assert_array_equal(biased.weights["layer_1_bias"], np.full(4, 0.125))


def test_neurons_that_integrate_and_fire_have_an_absolute_gain(tmp_path: Path) -> None:
    forever = nir.IF(r=1000 * ones(4), v_threshold=2 * ones(4))
    found = imported(tmp_path, plain(n1=forever, n2=nir.I(r=500 * ones(2))), chain(*CHAIN))
    layer, readout = found.network["layers"][0], found.network["readout"]
    assert (layer["decay"], layer["gain"], layer["threshold"]) == (1.0, 1.0, 2.0)
    assert (readout["kind"], readout["decay"], readout["gain"]) == ("leaky", 1.0, 0.5)


def test_a_graph_in_the_graph_is_a_part_of_it(tmp_path: Path) -> None:
    inner = graph_of(
        {"in": source(3), "w": linear(3, 4), "n": lif(4), "out": sink(4)},
        chain("in", "w", "n", "out"),
    )
    nodes = {"input": source(3), "part": inner, "w2": linear(4, 2), "n2": li(2), "output": sink(2)}
    found = imported(tmp_path, nodes, chain("input", "part", "w2", "n2", "output"))
    flat = imported(tmp_path, plain(), chain(*CHAIN))
    assert found.network == flat.network
    np.testing.assert_array_equal(found.weights["layer_1"], flat.weights["layer_1"])


def test_scales_delays_recurrence_and_parallel_paths(tmp_path: Path) -> None:
    nodes = plain(
        twice=nir.Scale(scale=2 * ones(4)),
        own=linear(4, 4),
        wait=nir.Delay(delay=0.001 * ones(4)),
    )
    edges = [*chain("input", "w1", "n1", "wait", "w2", "n2", "output"), *chain("n1", "own", "n1")]
    found = imported(tmp_path, nodes, [*edges, *chain("w1", "twice", "n1")])
    assert found.network["delay"] == 1
    assert found.network["layers"][0]["recurrent"]
    weight, own = nodes["w1"].weight, nodes["own"].weight
    np.testing.assert_allclose(found.weights["layer_1"], 3 * weight.T, rtol=1e-6)
    np.testing.assert_array_equal(found.weights["layer_1_recurrent"], own.T)


SKIP = ["input", "w1", "n1", "across", "n3", "w2", "n2", "output"]


def test_a_skip_connection_is_a_residual_addition(tmp_path: Path) -> None:
    nodes = plain(across=linear(4, 4), n3=lif(4))
    found = imported(tmp_path, nodes, [*chain(*SKIP), ("n1", "w2")])
    assert [layer["neurons"] for layer in found.network["layers"]] == [4, 4]
    assert found.network["readout"]["residual"] == [1]
    np.testing.assert_array_equal(found.weights["readout"], nodes["w2"].weight.T)


def test_a_convolution_with_a_pool_is_a_dense_matrix(tmp_path: Path) -> None:
    random = np.random.RandomState(SEED)
    conv = nir.Conv2d(
        input_shape=(6, 5),
        weight=random.randn(4, 1, 3, 2).astype(np.float32),
        stride=(2, 1),
        padding=(1, 0),
        dilation=(1, 2),
        groups=2,
        bias=random.randn(4).astype(np.float32),
    )
    pool = nir.SumPool2d(
        kernel_size=np.array([2, 2]), stride=np.array([1, 1]), padding=np.array([0, 0])
    )
    # [2, 6, 5] -> [4, 3, 3] -> [4, 2, 2]
    nodes = {
        "input": source(2, 6, 5),
        "conv": conv,
        "n1": lif((4, 3, 3)),
        "pool": pool,
        "flat": nir.Flatten(input_type={"input": np.array([4, 2, 2])}, start_dim=0, end_dim=-1),
        "w2": linear(16, 2),
        "n2": li(2),
        "output": sink(2),
    }
    names = ["input", "conv", "n1", "pool", "flat", "w2", "n2", "output"]
    found = imported(tmp_path, nodes, chain(*names))
    assert (found.inputs, found.network["layers"][0]["neurons"]) == (60, 36)
    image, spikes = random.randn(2, 6, 5), random.randn(4, 3, 3)
    padded = np.pad(image, [(0, 0), (1, 1), (0, 0)])
    expected = np.zeros((4, 3, 3))
    for out in range(4):
        for y in range(3):
            for x in range(3):
                window = padded[out // 2, 2 * y : 2 * y + 3, x : x + 3 : 2]
                expected[out, y, x] = (window * conv.weight[out, 0]).sum() + conv.bias[out]
    actual = image.ravel() @ found.weights["layer_1"] + found.weights["layer_1_bias"]
    np.testing.assert_allclose(actual, expected.ravel(), rtol=1e-5, err_msg=f"seed {SEED}")
    pooled = sum(spikes[:, y : y + 2, x : x + 2] for y in (0, 1) for x in (0, 1))
    np.testing.assert_allclose(
        spikes.ravel() @ found.weights["readout"],
        nodes["w2"].weight @ pooled.ravel(),
        rtol=1e-5,
    )
    assert any("dense matrix" in note for note in found.notes)


def test_a_convolution_in_one_dimension_and_an_average(tmp_path: Path) -> None:
    values = np.random.RandomState(SEED).randn(3, 8)
    weight = np.random.RandomState(SEED + 1).randn(2, 3, 3)
    fields = {
        "weight": weight,
        "bias": np.zeros(2),
        "stride": np.array(2),
        "padding": "valid",
        "dilation": np.array(1),
        "groups": np.array(1),
    }
    mapped = map_of([NirNode("c", "Conv1d", fields)], (3, 8))
    assert mapped.shape == (2, 3)
    expected = [
        [(values[:, 2 * x : 2 * x + 3] * weight[out]).sum() for x in range(3)] for out in range(2)
    ]
    np.testing.assert_allclose(values.ravel() @ mapped.dense, np.ravel(expected))
    pair = {name: np.array(2) for name in ("kernel_size", "stride")}
    pool = NirNode("p", "AvgPool2d", {**pair, "padding": np.array(0)})
    average = map_of([pool], (1, 4, 4))
    np.testing.assert_allclose(np.ones(16) @ average.dense, np.ones(4))


WRONG: Dict[str, Tuple[Dict[str, Any], Edges, str]] = {
    "shapes": (plain(w2=linear(5, 2)), chain(*CHAIN), "'w2'.*2 x 5"),
    "constants": (plain(n1=lif(7)), chain(*CHAIN), "'n1'.*7 values for 4 neurons"),
    "nan": (plain(w1=nir.Linear(weight=np.full((4, 3), np.nan))), chain(*CHAIN), "'w1'.*finite"),
    "tau": (plain(n1=lif(4, tau=0 * ones(4))), chain(*CHAIN), "'n1'.*tau must be above 0"),
    "reset": (plain(n1=lif(4, v_reset=0.5 * ones(4))), chain(*CHAIN), "'n1'.*v_reset"),
    "threshold": (plain(n1=lif(4, v_threshold=-ones(4))), chain(*CHAIN), "'n1'.*above 0"),
    "a tau that never ends": (plain(n1=lif(4, tau=1e30 * ones(4))), chain(*CHAIN), "use an IF"),
    "membrane": (plain(n1=li(4)), chain(*CHAIN), "'n1'.*passes its membrane on"),
    "one layer": (plain(), chain("input", "w1", "n1", "output"), "'n|w2"),
    "no way": (plain(), chain("input", "w1", "n1", "w2", "n2"), "'n2'|'output'|between input"),
    "loop of weights": (
        plain(a=linear(4, 4), b=linear(4, 4)),
        [*chain(*CHAIN), ("n1", "a"), ("a", "b"), ("b", "a"), ("b", "n1")],
        "cannot be scheduled",
    ),
    "loop of layers": (
        plain(n3=lif(4), back=linear(4, 4)),
        [*chain("input", "w1", "n1", "n3", "w2", "n2", "output"), *chain("n3", "back", "n1")],
        "'n3'.*a loop leads back to n1",
    ),
    "skip": (
        plain(w3=linear(3, 2)),
        [*chain(*CHAIN), ("input", "w3"), ("w3", "n2")],
        "'input'.*branch",
    ),
    "skip with other weights": (
        plain(across=linear(4, 4), n3=lif(4), w3=linear(4, 2)),
        [*chain(*SKIP), *chain("n1", "w3", "n2")],
        "'n1'.*other weights",
    ),
    "skip of another delay": (
        plain(across=linear(4, 4), n3=lif(4), wait=nir.Delay(delay=0.001 * ones(4))),
        [*chain(*SKIP), *chain("n1", "wait", "w2")],
        "'n2'.*different delays",
    ),
    "half a step": (
        plain(wait=nir.Delay(delay=0.0005 * ones(4))),
        chain("input", "w1", "n1", "wait", "w2", "n2", "output"),
        "whole number of steps",
    ),
    "delayed input": (
        plain(wait=nir.Delay(delay=0.001 * ones(3))),
        chain("input", "wait", "w1", "n1", "w2", "n2", "output"),
        "'n1'.*delayed",
    ),
    "empty": (
        {
            **plain(n1=lif(1)),
            "input": source(1, 2, 2),
            "w1": nir.Conv2d(
                input_shape=(2, 2),
                weight=np.ones((1, 1, 3, 3)),
                stride=1,
                padding=0,
                dilation=1,
                groups=1,
                bias=np.zeros(1),
            ),
        },
        chain(*CHAIN),
        "'w1'.*output is empty",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_imported_is_named(name: str, tmp_path: Path) -> None:
    nodes, edges, message = WRONG[name]
    with pytest.raises(NirInvalid, match=message):
        imported(tmp_path, nodes, edges)


class TestHostileFiles:
    """Nothing outside the file is read, and nothing large is allocated."""

    def changed(self, folder: Path) -> Any:
        path = folder / "theirs.nir"
        nir.write(str(path), graph_of(plain(), chain(*CHAIN)))
        return h5py.File(str(path), "a")

    @pytest.mark.parametrize(
        ("field", "value", "message"),
        [
            ("groups", [1, 1], "groups must be one whole number"),
            ("padding", [2**40], "padding must be whole numbers"),
            ("stride", [1, 2, 3], "stride must be whole numbers"),
        ],
    )
    def test_a_convolution_with_other_settings(
        self, field: str, value: List[int], message: str, tmp_path: Path
    ) -> None:
        with self.changed(tmp_path) as file:
            node = file["node/nodes/w1"]
            for name in list(node):
                del node[name]
            node["type"] = "Conv1d"
            node["weight"], node["bias"] = np.ones((4, 3, 1)), np.zeros(4)
            whole = {"stride": 1, "padding": 0, "dilation": 1, "groups": 1}
            for name, number in {**whole, field: value}.items():
                node[name] = np.array(number)
            del file["node/nodes/input/shape"]
            file["node/nodes/input/shape"] = np.array([3, 1])
        self.refused(tmp_path, f"'w1'.*{message}")

    def test_a_layer_without_neurons(self, tmp_path: Path) -> None:
        with self.changed(tmp_path) as file:
            del file["node/nodes/w1/weight"]
            file["node/nodes/w1/weight"] = np.ones((0, 3))
        self.refused(tmp_path, "'n1'.*no neurons")

    def test_an_empty_time_step_is_none(self, tmp_path: Path) -> None:
        with self.changed(tmp_path) as file:
            file["node"].require_group("metadata")["dt"] = np.ones(0)
        found = import_network(tmp_path / "theirs.nir", Options())
        assert found.step_ms == 1.0
        assert any("no time step" in note for note in found.notes)

    def refused(self, folder: Path, message: str) -> None:
        with pytest.raises(NirInvalid, match=message):
            import_network(folder / "theirs.nir", Options())

    def test_an_unknown_node(self, tmp_path: Path) -> None:
        with self.changed(tmp_path) as file:
            del file["node/nodes/n1/type"]
            file["node/nodes/n1/type"] = "Hodgkin"
        self.refused(tmp_path, "'n1'.*'Hodgkin' is unknown; known are .*CubaLIF")

    def test_links_out_of_the_file(self, tmp_path: Path) -> None:
        for link in (h5py.ExternalLink("other.h5", "/w"), h5py.SoftLink("/node/nodes/w2/weight")):
            with self.changed(tmp_path) as file:
                del file["node/nodes/w1/weight"]
                file["node/nodes/w1/weight"] = link
            self.refused(tmp_path, "w1.*'weight' is a link")

    def test_numbers_stored_in_another_file(self, tmp_path: Path) -> None:
        with self.changed(tmp_path) as file:
            del file["node/nodes/w1/weight"]
            file.create_dataset(
                "node/nodes/w1/weight", (4, 3), "f4", external=[("secret", 0, h5py.h5f.UNLIMITED)]
            )
        self.refused(tmp_path, "w1.*another file")

    def test_a_billion_parameters_in_a_small_file(self, tmp_path: Path) -> None:
        with self.changed(tmp_path) as file:
            del file["node/nodes/w1/weight"]
            file.create_dataset("node/nodes/w1/weight", (10**6, 10**3), "f4", chunks=(1000, 1000))
        assert (tmp_path / "theirs.nir").stat().st_size < 10**6
        self.refused(tmp_path, "'w1'.*more than 134,217,728 numbers")

    def test_a_graph_in_itself(self, tmp_path: Path) -> None:
        with self.changed(tmp_path) as file:
            file["node/nodes/again"] = file["node"]
        self.refused(tmp_path, "nested more than|more than 1,000 nodes")

    def test_an_edge_to_nowhere(self, tmp_path: Path) -> None:
        with self.changed(tmp_path) as file:
            del file["node/edges"]
            file["node/edges"] = [["input", "w1"], ["w1", "gone"]]
        self.refused(tmp_path, "'gone', which is no node")

    def test_many_edges(self, tmp_path: Path) -> None:
        with self.changed(tmp_path) as file:
            del file["node/edges"]
            file["node/edges"] = [["input", "w1"]] * 20_000
        self.refused(tmp_path, "10,000 pairs")

    @pytest.mark.parametrize("content", [b"", b"not HDF5", b"\x89HDF\r\n\x1a\n" + bytes(200)])
    def test_a_damaged_file(self, content: bytes, tmp_path: Path) -> None:
        (tmp_path / "theirs.nir").write_bytes(content)
        self.refused(tmp_path, "cannot be read as a NIR file")

    def test_a_truncated_file(self, tmp_path: Path) -> None:
        self.changed(tmp_path).close()
        path = tmp_path / "theirs.nir"
        whole = path.read_bytes()
        for length in range(0, len(whole), len(whole) // 25):
            path.write_bytes(whole[:length])
            self.refused(tmp_path, ".")


def test_the_program_writes_json_also_for_errors(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "ipulse_worker.nir", str(tmp_path / "none.nir")]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    assert "none.nir" in json.loads(done.stdout)["error"]["message"]
