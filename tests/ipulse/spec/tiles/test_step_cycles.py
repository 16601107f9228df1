"""The prediction of a training step's cycles, compared with what the emulator counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarks.common.processes import in_fresh_process
from benchmarks.emulator.step_cycles import compare, spec_of
from ipulse.spec import ExperimentSpec, parse_job_spec, parse_spec
from ipulse_core.prediction.network_on_tiles import OF_PROGRAMS, why_no_memory
from ipulse_core.prediction.step_cycles import Rates, step_cycles, why_no_cycles
from ipulse_core.pva.band import band_of
from ipulse_core.spec.host_links import LINKS
from ipulse_core.spec.tile_cycles import Activity, predict_cycles
from ipulse_core.spec.tile_placement import TileLayer, TileNetwork
from ipulse_ops.lif.network import LIF, LeakyReadout, Network
from ipulse_ops.lif.poplar.arrays import PoplarLIF
from tests.ops.strategies import random_problem

NEAR = 1.25
KINDS = ("compute", "exchange", "sync")


def spec(device: dict[str, Any], **network: Any) -> ExperimentSpec:
    return parse_spec(
        {
            "version": 1,
            "data": {"kind": "digits", "steps": 10, "encoding": {"kind": "linear_latency"}},
            "network": {"layers": [{"neurons": 64, "name": "first"}], **network},
            "device": {"kind": "emulator", **device},
        }
    )


@pytest.mark.parametrize(
    ("layers", "delay", "tiles"),
    [
        ((LIF(64, capacity=8), LIF(32)), 0, 1472),
        ((LIF(48, recurrent=True), LIF(32, synapse_decay=0.8)), 1, 1472),
        ((LIF(100),), 0, 16),
    ],
    ids=["capacity", "recurrent", "few tiles"],
)
def test_cycles_are_those_of_the_op(layers: tuple[LIF, ...], delay: int, tiles: int) -> None:
    steps, batch, slots = 8, 16, 24
    network = Network(40, layers, LeakyReadout(10), delay=delay)
    problem = random_problem(network, 2, steps, batch, slots)
    weights = [0.5 * matrix for matrix in problem.weights]
    with PoplarLIF(network, steps, batch, slots, tiles_per_ipu=tiles) as op:
        run = op.forward(weights, problem.ids, problem.counts)
        op.backward(problem.grad_membrane)
        totals = op.op.profile()["execution"]["totals"]
    counted = sum(total[f"{kind}Cycles"] for total in totals for kind in KINDS)
    described = TileNetwork(
        inputs=40,
        input_slots=slots,
        layers=[
            *(
                TileLayer(
                    each.neurons,
                    each.slots,
                    each.recurrent,
                    synapse=each.synapse_decay is not None,
                )
                for each in layers
            ),
            TileLayer(10, 0),
        ],
        steps=steps,
        batch=batch,
        mapping="capacity",
        ipus=1,
        tiles_per_ipu=tiles,
        splits_neurons=False,
        delay=delay,
    )
    spikes = float(np.mean(problem.counts))
    activity = [Activity(spikes, spikes)]
    for layer in run.layers:
        sent, filled = layer.spike_counts.mean(axis=(0, 1))
        activity.append(Activity(float(sent), float(filled), float(layer.dropped.mean())))
    found = predict_cycles(described, activity, LINKS["pcie"])
    predicted = found.compute + found.exchange + found.sync
    predicted -= 600 * (4 + 2 * len(layers) + len(weights))  # syncs of copies, which it has none of
    assert counted / NEAR < predicted < counted * NEAR


@pytest.mark.verify
@pytest.mark.parametrize("name", ["one layer", "delay", "adam on tiles", "clipped on tiles"])
def test_cycles_are_those_of_a_training_step(name: str) -> None:
    row = in_fresh_process(compare, name)
    assert 1 / NEAR < float(row["ratio"]) < NEAR, row


def test_more_activity_takes_more_cycles_in_both_passes() -> None:
    device = {"tiles": 64}
    layers = [{"neurons": 64, "second_threshold": 0.5, "capacity": 48}]
    few, many = (
        step_cycles(spec(device, layers=layers), {"1": Rates(rate, 2 * rate)})
        for rate in (0.02, 0.3)
    )
    assert few is not None
    assert many is not None
    before, after = few.prediction.layers[0], many.prediction.layers[0]
    assert before.forward < after.forward
    assert before.backward < after.backward


def test_layers_and_kinds_sum_to_all_cycles() -> None:
    found = step_cycles(spec({}))
    assert found is not None
    value = found.to_json()
    kinds = sum(value[kind] for kind in (*KINDS, "host"))
    layers = sum(each["forward"] + each["backward"] for each in value["layers"])
    assert kinds == pytest.approx(value["cycles"], abs=5)
    assert layers == pytest.approx(value["cycles"], abs=5)
    assert [each["name"] for each in value["layers"]] == ["first", "readout", None]
    of_emulated = band_of(value["cycles"])  # a prediction has an error of its own
    assert value["band"]["low"] <= of_emulated.low
    assert value["band"]["high"] >= of_emulated.high


def test_the_connection_to_the_host_counts() -> None:
    pcie, fabric = (step_cycles(spec({"host_link": link})) for link in ("pcie", "fabric"))
    assert pcie is not None
    assert fabric is not None
    assert pcie.prediction.host < fabric.prediction.host
    assert pcie.prediction.compute == fabric.prediction.compute


def test_a_faster_clock_waits_more_cycles_for_the_host() -> None:
    devices = ({"kind": "ipu", "architecture": name} for name in ("ipu2", "ipu21"))
    slow, fast = (step_cycles(spec(device)) for device in devices)
    assert slow is not None
    assert fast is not None
    assert fast.prediction.host > 1.3 * slow.prediction.host
    assert fast.prediction.compute == slow.prediction.compute


def test_an_ipu_trains_on_the_device() -> None:
    ipu, emulated = (
        step_cycles(spec(device)) for device in ({"kind": "ipu"}, {"training": "device"})
    )
    assert ipu is not None
    assert emulated is not None
    assert ipu.prediction == emulated.prediction


def test_a_step_on_the_device_has_the_update() -> None:
    host, device = (step_cycles(spec({"training": place})) for place in ("host", "device"))
    assert host is not None
    assert device is not None
    assert device.prediction.compute > host.prediction.compute


@pytest.mark.parametrize(
    ("device", "network"),
    [
        ({"states_dtype": "float16"}, {}),
        ({}, {"reset_gradient": "none"}),
        ({}, {"layers": [{"neurons": 64, "policy": "cyclic", "capacity": 8}]}),
        ({}, {"layers": [{"neurons": 64, "adaptation": {}}]}),
    ],
)
def test_what_is_predicted_as_well(device: dict[str, Any], network: dict[str, Any]) -> None:
    found = step_cycles(spec(device, **network))
    assert found is not None
    assert found.prediction.total > 1e5


@pytest.mark.parametrize(
    ("device", "network"),
    [
        ({"kind": "cpu"}, {}),
        ({"states_dtype": "float16", "stochastic_rounding": True}, {}),
        ({"ipus": 2}, {}),
        ({"memory": "recompute"}, {}),
        ({}, {"layers": [{"neurons": 64, "policy": "top", "capacity": 8}]}),
        ({}, {"delay": 3}),
    ],
)
def test_what_is_not_predicted(device: dict[str, Any], network: dict[str, Any]) -> None:
    found = spec(device, **network)
    assert step_cycles(found) is None
    assert (why_no_cycles(found) is None) == (found.device.kind == "cpu")


def test_the_graph_of_a_program_is_not_known_before_it_runs() -> None:
    program = {"version": 1, "kind": "poplar_program", "sources": ["a.cpp"]}
    found = parse_job_spec({**program, "package": f"sha256:{'0f' * 32}"})
    assert why_no_memory(found) == why_no_cycles(found) == OF_PROGRAMS


def test_every_network_of_the_benchmark_is_predicted() -> None:
    assert step_cycles(spec_of("second threshold")) is not None
