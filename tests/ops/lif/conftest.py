"""A problem for the TensorFlow op."""

from __future__ import annotations

import pytest

from ipulse_ops.lif.network import LIF, LeakyReadout, Network
from tests.ops.strategies import Problem, random_problem

NETWORK = Network(
    inputs=30,
    layers=(
        LIF(neurons=50, decay=0.9, second_threshold=0.5),
        LIF(neurons=40, decay=0.9),
        LIF(neurons=20, decay=0.9, capacity=4),
    ),
    readout=LeakyReadout(neurons=6, decay=0.9),
)


@pytest.fixture
def problem() -> Problem:
    return random_problem(NETWORK, seed=4, steps=12, batch=5, slots=10)
