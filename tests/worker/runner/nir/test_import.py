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

from ipulse_core.nir.discretization import Options
from ipulse_core.nir.errors import NirInvalid
from ipulse_core.nir.importer import ImportedNetwork, import_network
from ipulse_ops.lif.reference import network_pass as reference
from ipulse_ops.reference.spikes import dense_to_sparse, sparse_to_dense
from ipulse_worker.runner.crosscheck.recorded_spikes import compared
from ipulse_worker.runner.model.network import network_of
from tests.worker.runner.trainings import spec_of

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
    given = {"writer": "nir", "solver": "exact", "step_s": 0.001, "reset": "zero"}
    return import_network(path, Options(**{**given, **options}))


def test_time_constants_follow_the_solver(tmp_path: Path) -> None:
    exact = imported(tmp_path, plain(), chain(*CHAIN))
    assert exact.network["layers"][0]["decay"] == pytest.approx(np.exp(-0.001 / 0.02), rel=1e-14)
    euler = imported(tmp_path, plain(), chain(*CHAIN), solver="euler")
    assert euler.network["layers"][0]["decay"] == 0.95
    assert euler.notes == []
    unscaled = imported(tmp_path, plain(), chain(*CHAIN), solver="unscaled")
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
    command = [sys.executable, "-m", "ipulse_core.nir", str(tmp_path / "none.nir")]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    assert "none.nir" in json.loads(done.stdout)["error"]["message"]


SKIP = ["input", "w1", "n1", "across", "n3", "w2", "n2", "output"]


def test_a_skip_connection_is_a_residual_addition(tmp_path: Path) -> None:
    nodes = plain(across=linear(4, 4), n3=lif(4))
    found = imported(tmp_path, nodes, [*chain(*SKIP), ("n1", "w2")])
    assert [layer["neurons"] for layer in found.network["layers"]] == [4, 4]
    assert found.network["readout"]["residual"] == [1]
    np.testing.assert_array_equal(found.weights["readout"], nodes["w2"].weight.T)


def fired(currents: np.ndarray) -> np.ndarray:
    """Return the spikes `[time, samples, neurons]` of LIF neurons with the constants of `lif`."""
    decay, membrane, spikes = np.exp(-0.001 / 0.02), np.zeros(currents.shape[1:]), []
    for current in currents:
        membrane = decay * membrane + (1 - decay) * current
        spikes.append(membrane > 1)
        membrane = np.where(spikes[-1], 0, membrane)
    return np.array(spikes, np.float64)


@pytest.mark.old_python
def test_spikes_of_the_input_that_skip_layers_are_repeated_in_them(tmp_path: Path) -> None:
    random = np.random.RandomState(SEED)
    matrices = {"w1": (4, 3), "across": (4, 4), "skip": (2, 3), "own": (2, 4), "w2": (2, 4)}
    w = {
        name: (10 + 20 * random.randn(*shape)).astype(np.float32)
        for name, shape in matrices.items()
    }
    b = {name: np.float32([8, -2]) for name in ("own", "w2")}
    nodes = plain(
        **{name: nir.Linear(weight=w[name]) for name in ("w1", "across", "skip")},
        **{name: nir.Affine(weight=w[name], bias=b[name]) for name in b},
        n3=lif(4),
        n2=lif(2),
    )
    # n1 and n3 are added in front of w2, and its bias counts once.
    skips = [*chain("input", "skip", "n2"), *chain("n1", "own", "n2"), ("n1", "w2")]
    found = imported(tmp_path, nodes, [*chain(*SKIP), *skips])
    assert [layer["neurons"] for layer in found.network["layers"]] == [4 + 3, 4 + 3 + 4]
    assert found.nodes == [("n1", 4), ("n3", 4), ("n2", 2)]
    assert any("repeats" in note for note in found.notes)
    inputs = (random.rand(40, 3, 3) < 0.3).astype(np.float64)
    n1 = fired(inputs @ w["w1"].T)
    n3 = fired(n1 @ w["across"].T)
    into = inputs @ w["skip"].T + n1 @ w["own"].T + b["own"] + (n1 + n3) @ w["w2"].T + b["w2"]
    spikes = {"n1": n1, "n3": n3, "n2": fired(into)}
    assert all(0 < layer.mean() < 1 for layer in spikes.values())
    check_spikes(tmp_path, found, inputs, spikes)


def check_spikes(
    folder: Path, found: ImportedNetwork, inputs: np.ndarray, spikes: Dict[str, np.ndarray]
) -> None:
    """Check that a network spikes as was recorded."""
    data = {"kind": "poisson", "channels": found.inputs, "classes": found.classes}
    spec = spec_of(
        network=found.network,
        data={**data, "steps": len(inputs), "samples_per_class": 5},
        training={"loss": "spike_count_mse"},
    )
    path = folder / "recorded.npz"
    arrays: Dict[str, Any] = {"inputs": inputs, **spikes}
    np.savez(str(path), **arrays)
    for layer in compared(spec, found.weights, path, found.nodes):
        assert (layer["different"], layer["spikes"]) == (0, spikes[layer["name"]].sum())


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


def test_the_bias_of_a_loop_arrives_in_every_step(tmp_path: Path) -> None:
    bias = np.float32([0.1, -0.2, 0.3, 0])
    loop = nir.Affine(weight=linear(4, 4).weight, bias=bias)
    nodes = plain(own=loop, w1=nir.Affine(weight=linear(3, 4).weight, bias=np.float32([1] * 4)))
    found = imported(tmp_path, nodes, [*chain(*CHAIN), *chain("n1", "own", "n1")])
    np.testing.assert_allclose(found.weights["layer_1_bias"], 1 + bias)
    np.testing.assert_array_equal(found.weights["layer_1_recurrent"], loop.weight.T)
    assert any("bias of its loop" in note for note in found.notes)


def test_a_graph_of_one_layer_has_a_hidden_layer_that_repeats_the_input(tmp_path: Path) -> None:
    wait = nir.Delay(delay=0.002 * ones(3))
    nodes = {"input": source(3), "d": wait, "w": linear(3, 4), "n": lif(4), "output": sink(4)}
    found = imported(tmp_path, nodes, chain(*nodes))
    assert found.network["layers"][0]["trainable"] is False
    assert (found.network["readout"]["kind"], found.network["delay"]) == ("spiking", 2)
    np.testing.assert_array_equal(found.weights["readout"], nodes["w"].weight.T)
    spec = spec_of(
        network=found.network,
        data={"kind": "poisson", "channels": 3, "classes": 4, "steps": 9, "samples_per_class": 5},
        training={"loss": "spike_count_mse"},
    )
    spikes = (np.random.RandomState(SEED).rand(9, 5, 3) < 0.5).astype(np.float32)
    trace = reference.forward(
        network_of(spec), list(found.weights.values()), *dense_to_sparse(spikes)
    )
    relay = trace.layers[0]
    counts = relay.spike_counts[..., 0]
    np.testing.assert_array_equal(sparse_to_dense(relay.spike_ids, counts, 3), spikes)
    late = np.concatenate([np.zeros_like(spikes[:2]), spikes[:-2]])
    check_spikes(tmp_path, found, spikes, {"n": fired(late @ nodes["w"].weight.T)})
