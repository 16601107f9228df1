"""The Poplar op at full size equals the reference: 2 x 1466 neurons on 1,472 tiles per IPU.

Weights are k / 64 and decays 1/2, so that float32 sums are exact: spikes, slots and membranes are
compared to the bit, and the surrogates between numbers of IPUs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, Tuple

import numpy as np
import pytest

from ipulse_ops.lif.network import LIF, LeakyReadout, Network
from ipulse_ops.lif.placement import Placement
from ipulse_ops.lif.poplar.arrays import PoplarLIF
from ipulse_ops.lif.poplar.attributes import Wanted
from ipulse_ops.lif.reference import network_pass as reference
from ipulse_ops.lif.weights import weight_shapes
from tests.ops.strategies import Problem

from .variants import assert_bit_equal, assert_gradients

INPUTS, NEURONS, CLASSES = 2312, 1466, 10
SLOTS, INPUT_SLOTS = 73, 115  # 5 %
STEPS, BATCH = 6, 9  # two rounds of six workers, the second one not full
SEED = 3


@dataclass(frozen=True)
class Case:
    """A network, and the numbers of IPUs it runs on with split=layers and split=neurons."""

    layer: Dict[str, Any] = field(default_factory=dict)
    network: Dict[str, Any] = field(default_factory=dict)
    wanted: Wanted = Wanted()
    hidden: int = 2
    ipus: Tuple[int, ...] = (1,)
    neurons: Tuple[int, ...] = (2,)

    def build(self) -> Network:
        layer = LIF(NEURONS, 0.5, second_threshold=0.5, capacity=SLOTS, gain=2.0, **self.layer)
        readout = LeakyReadout(CLASSES, 0.5, gain=2.0)
        return Network(INPUTS, (layer,) * self.hidden, readout, **{"delay": 1, **self.network})


CASES = {
    "delay 1": Case(ipus=(1, 2), neurons=(2, 4)),
    "delay 0": Case(network={"delay": 0}, ipus=(1, 2)),
    "three hidden layers": Case(hidden=3, ipus=(1, 2, 4), neurons=(4,)),
    "recurrent, synapse, bias": Case(
        layer={"recurrent": True, "synapse_decay": 0.5, "bias": True},
        network={"reset_gradient": "none"},
        ipus=(1, 2),
    ),
    "reset subtract on emission, all gradients": Case(
        network={"reset": "subtract", "reset_on": "emission", "reset_gradient": "none"},
        wanted=Wanted(membranes=True, input_gradients=True, constant_gradients=True),
    ),
    "no reset, policy top": Case(layer={"policy": "top"}, network={"reset": "none"}, neurons=()),
    "policy cyclic": Case(layer={"policy": "cyclic"}, ipus=(1, 2)),
}


def problem_of(network: Network, hidden: int) -> Problem:
    rng = np.random.default_rng(0)
    weights = tuple(
        (rng.integers(-16, 17, shape.shape) / 64).astype(np.float32)
        for shape in weight_shapes(network)
    )
    order = np.argsort(rng.random((STEPS, BATCH, INPUTS)).astype(np.float32), axis=2)
    ids = np.sort(order[..., :INPUT_SLOTS], axis=2).astype(np.int32)
    counts = rng.integers(INPUT_SLOTS // 2, INPUT_SLOTS + 1, (STEPS, BATCH)).astype(np.int32)

    def normal(width: int) -> np.ndarray:
        return rng.standard_normal((STEPS, BATCH, width)).astype(np.float32)

    by_spikes = tuple(normal(SLOTS) for _ in range(hidden))
    by_u = tuple(normal(NEURONS) for _ in range(hidden))
    return Problem(network, SEED, weights, ids, counts, normal(CLASSES), by_spikes, by_u)


@pytest.mark.verify
@pytest.mark.parametrize("name", CASES)
def test_equals_the_reference_on_any_number_of_ipus(name: str) -> None:
    case = CASES[name]
    network = case.build()
    p = problem_of(network, case.hidden)
    trace = reference.forward(network, p.weights, p.ids, p.counts, seed=SEED)
    surrogates = []
    for split, ipus in [("layers", n) for n in case.ipus] + [("neurons", n) for n in case.neurons]:
        placement = Placement(ipus=ipus, split=split)
        with PoplarLIF(network, STEPS, BATCH, INPUT_SLOTS, placement, case.wanted) as op:
            run = op.forward(p.weights, p.ids, p.counts, SEED)
            assert_bit_equal(run, trace)
            assert_gradients(op, p, trace)
        surrogates.append([layer.surrogate for layer in run.layers])
        np.testing.assert_equal(surrogates[-1], surrogates[0])
