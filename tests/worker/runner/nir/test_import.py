"""Graphs of others: nodes that become layers, and errors that name the node."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

import nir
import numpy as np
import pytest

from ipulse_worker.nir.discretization import Options
from ipulse_worker.nir.errors import NirInvalid
from ipulse_worker.nir.importer import ImportedNetwork, import_network

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


@pytest.mark.old_python
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


@pytest.mark.old_python
def test_the_program_writes_json_also_for_errors(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "ipulse_worker.nir", str(tmp_path / "none.nir")]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    assert "none.nir" in json.loads(done.stdout)["error"]["message"]


SKIP = ["input", "w1", "n1", "across", "n3", "w2", "n2", "output"]


def test_a_skip_connection_is_a_residual_addition(tmp_path: Path) -> None:
    nodes = plain(across=linear(4, 4), n3=lif(4))
    found = imported(tmp_path, nodes, [*chain(*SKIP), ("n1", "w2")])
    assert [layer["neurons"] for layer in found.network["layers"]] == [4, 4]
    assert found.network["readout"]["residual"] == [1]
    np.testing.assert_array_equal(found.weights["readout"], nodes["w2"].weight.T)


def test_delays_of_added_spikes_are_one_for_all_layers(tmp_path: Path) -> None:
    waits = {name: nir.Delay(delay=0.002 * ones(4)) for name in ("d1", "d3", "d13")}
    nodes = plain(across=linear(4, 4), n3=lif(4), **waits)
    path = ["input", "w1", "n1", "d1", "across", "n3", "d3", "w2", "n2", "output"]
    found = imported(tmp_path, nodes, [*chain(*path), *chain("n1", "d13", "w2")])
    assert (found.network["delay"], found.network["readout"]["residual"]) == (2, [1])
    path.remove("d1")
    del nodes["d1"]
    with pytest.raises(NirInvalid, match="0, 0, 2 steps"):
        imported(tmp_path, nodes, [*chain(*path), *chain("n1", "d13", "w2")])


def test_delays_that_differ_are_those_of_the_layers(tmp_path: Path) -> None:
    nodes = plain(wait=nir.Delay(delay=0.003 * ones(3)), more=nir.Delay(delay=0.002 * ones(4)))
    found = imported(
        tmp_path, nodes, chain("input", "wait", "w1", "n1", "more", "w2", "n2", "output")
    )
    assert [found.network["layers"][0]["delay"], found.network["readout"]["delay"]] == [3, 2]
    assert found.network["delay"] == 0


def test_delays_that_differ_by_sender_are_trained_and_rounded(tmp_path: Path) -> None:
    nodes = plain(wait=nir.Delay(delay=np.array([0.0, 0.003, 0.001])))
    found = imported(tmp_path, nodes, chain("input", "wait", "w1", "n1", "w2", "n2", "output"))
    assert found.network["layers"][0]["delays"] == {"per": "neuron", "longest": 3, "rounded": True}
    np.testing.assert_array_equal(found.weights["layer_1_delays"], np.float32([0, 3, 1]))
    assert any("trained" in note for note in found.notes)


def test_delays_behind_weights_and_of_parallel_ways_are_those_of_synapses(tmp_path: Path) -> None:
    weight = np.float32([[1, 0, 2], [0, 3, 0], [4, 5, 0], [0, 0, 6]])
    nodes = plain(
        w1=nir.Linear(weight=weight),
        late=nir.Linear(weight=np.float32(weight == 0)),
        wait=nir.Delay(delay=0.002 * ones(3)),
        more=nir.Delay(delay=np.array([0.001, 0.002, 0, 0])),
    )
    edges = chain("input", "w1", "n1", "more", "w2", "n2", "output")
    found = imported(tmp_path, nodes, [*edges, *chain("input", "wait", "late", "n1")])
    layer = found.network["layers"][0]
    assert layer["delays"] == {"per": "synapse", "longest": 2}
    np.testing.assert_array_equal(found.weights["layer_1_delays"], 2 * (weight == 0).T)
    np.testing.assert_array_equal(found.weights["layer_1"], np.where(weight == 0, 1, weight).T)
    assert found.network["readout"]["delays"]["per"] == "neuron"
    behind = chain("input", "w1", "more", "n1", "w2", "n2", "output")
    del nodes["late"], nodes["wait"]
    found = imported(tmp_path, nodes, behind)
    expected = np.tile(np.float32([1, 2, 0, 0]), (3, 1))
    np.testing.assert_array_equal(found.weights["layer_1_delays"], expected)
