"""Codelets of the op break no rule of a tile: bounds, alignment, races of workers and vertices."""

from __future__ import annotations

from dataclasses import replace
from typing import Tuple

import pytest

from ipulse_ops.lif.network import LIF, LeakyReadout, Network
from ipulse_ops.lif.placement import Placement
from ipulse_ops.lif.poplar import build
from poplar_emulator.build import SANITIZE_VARIABLE
from tests.ops.lif.poplar.variants import assert_gradients, compiled, run_both
from tests.ops.strategies import random_problem

LAYER = LIF(neurons=20, decay=0.95, gain=20.0, capacity=8, second_threshold=0.5)
MORE = replace(LAYER, recurrent=True, bias=True, synapse_decay=0.9, policy="cyclic")


@pytest.fixture(autouse=True)
def checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Codelets with a check before each access to memory."""
    monkeypatch.setenv(SANITIZE_VARIABLE, "1")
    monkeypatch.setattr(build, "_built", {})


@pytest.mark.sample(1)  # the op is compiled once more, and kept in the cache
@pytest.mark.parametrize(
    ("layers", "placement"),
    [
        ((LAYER, LAYER), Placement()),
        ((replace(LAYER, policy="top"),), Placement()),
        ((MORE,), Placement()),
        ((LAYER, LAYER), Placement(ipus=2, split="neurons")),
    ],
    ids=["index", "top", "more", "split"],
)
def test_a_training_step(layers: Tuple[LIF, ...], placement: Placement) -> None:
    readout = LeakyReadout(neurons=4, bias=True)
    network = Network(inputs=12, layers=layers, readout=readout)
    problem = random_problem(network, seed=1, steps=4, batch=9, slots=6)
    with compiled(problem, placement) as op:
        _, trace = run_both(op, problem)
        assert_gradients(op, problem, trace)
