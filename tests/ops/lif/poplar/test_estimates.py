"""The op's vertices say what they take: setPerfEstimate against what the emulator counts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Dict

import numpy as np
import pytest

from ipulse_ops.lif.network import LIF, LeakyReadout, Network
from ipulse_ops.lif.placement import Placement
from ipulse_ops.lif.poplar.adam import AdamState, PoplarAdam
from ipulse_ops.lif.poplar.arrays import PoplarLIF
from ipulse_ops.lif.poplar.attributes import Wanted
from tests.ops.strategies import random_problem

FACTOR = 1.75  # of a compute set that takes more than a start
LEAST = 1000  # cycles
LAYER = LIF(neurons=150, decay=0.95, gain=20.0, capacity=16, second_threshold=0.5)
MORE = replace(LAYER, recurrent=True, bias=True, synapse_decay=0.9, policy="cyclic")
SPLIT = Placement(ipus=2, split="neurons")


def ratios(op: Any) -> Dict[str, float]:
    """Estimated of counted cycles, by compute set."""
    profile = op.profile()
    sets = profile["compilation"]["computeSets"]
    programs = {one["_id"]: one for one in profile["compilation"]["programs"]}
    measured = {}
    for total in profile["execution"]["totals"]:
        number = programs[total["program"]].get("computeset")
        if number is not None:
            counted = total["computeCycles"] / total["executions"]
            if counted > LEAST:
                measured[sets[number]["name"]] = sets[number]["estimatedCycles"] / counted
    return measured


@pytest.mark.parametrize(
    ("layer", "placement", "constants", "sets"),
    [
        (LAYER, Placement(), False, 7),
        (LAYER, SPLIT, False, 8),
        (replace(LAYER, policy="top"), Placement(), False, 7),
        (MORE, Placement(), True, 8),
    ],
    ids=["index", "split", "top", "more"],
)
def test_estimates_are_what_is_counted_when_there_is_most_to_do(
    layer: LIF, placement: Placement, constants: bool, sets: int
) -> None:
    """Every neuron spikes in every step, and all spikes are one worker's senders."""
    steps, batch, slots = 6, 24, 32
    readout = LeakyReadout(neurons=10, decay=0.95, gain=20.0)
    network = Network(inputs=200, layers=(layer, layer), readout=readout, delay=1)
    problem = random_problem(network, seed=1, steps=steps, batch=batch, slots=slots)
    weights = [np.full_like(matrix, 0.25) for matrix in problem.weights]
    ids = np.broadcast_to(np.arange(slots, dtype=np.int32), (steps, batch, slots)).copy()
    wanted = Wanted(membranes=constants, constant_gradients=constants)
    with PoplarLIF(network, steps, batch, slots, placement, wanted, tiles_per_ipu=64) as op:
        op.forward(weights, ids, problem.counts * 0 + slots, seed=1)
        gradients = op.backward(problem.grad_membrane)
        measured = ratios(op.op)
    if layer is LAYER and placement == Placement():
        with PoplarAdam(network, input_slots=slots, tiles_per_ipu=64) as adam:
            zeros = tuple(np.zeros_like(w) for w in weights)
            adam.update(AdamState(tuple(weights), zeros, zeros), gradients.weights, 1e-3, 1)
            measured.update(ratios(adam.op))
    assert len(measured) >= sets, measured
    assert all(1 / FACTOR < ratio < FACTOR for ratio in measured.values()), measured
