"""Adam on the emulated device against its equations in float64."""

from __future__ import annotations

import numpy as np
import pytest

from ipulse_ops.lif.network import LIF, LeakyReadout, Network
from ipulse_ops.lif.poplar.adam import AdamState, PoplarAdam
from ipulse_ops.lif.weights import weight_shapes
from poplar_emulator.custom_op import CustomOpError

# Odd numbers of neurons have padded rows, which go in and out again.
NETWORK = Network(
    inputs=7,
    layers=(LIF(neurons=13, recurrent=True, bias=True),),
    readout=LeakyReadout(neurons=4),
)


@pytest.mark.parametrize("weight_decay", [0.0, 0.01])
def test_updates_are_those_of_the_equations(weight_decay: float) -> None:
    rng = np.random.Generator(np.random.PCG64(2))
    shapes = [shape.shape for shape in weight_shapes(NETWORK)]
    weights = tuple(rng.normal(size=shape).astype(np.float32) for shape in shapes)
    zeros = tuple(np.zeros(shape, np.float32) for shape in shapes)
    state = AdamState(weights, zeros, zeros)
    baseline = [[np.float64(array) for array in arrays] for arrays in state]
    rate, beta_1, beta_2, epsilon = 0.01, 0.9, 0.999, 1e-7
    with PoplarAdam(NETWORK, weight_decay=weight_decay, tiles_per_ipu=9) as adam:
        for t in range(1, 6):
            gradients = [rng.normal(size=shape).astype(np.float32) for shape in shapes]
            state = adam.update(state, gradients, rate, t)
            step = rate * np.sqrt(1 - beta_2**t) / (1 - beta_1**t)
            for w, m, v, g in zip(*baseline, map(np.float64, gradients)):
                m += (1 - beta_1) * (g - m)
                v += (1 - beta_2) * (g**2 - v)
                w *= 1 - rate * weight_decay
                w -= step * m / (np.sqrt(v) + epsilon)
    for ours, theirs in zip(state, baseline):
        for actual, expected in zip(ours, theirs):
            np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)


def test_wrong_numbers_are_reported() -> None:
    with pytest.raises(CustomOpError, match="beta_2 must be above 0 and below 1"):
        PoplarAdam(NETWORK, beta_2=1.0, tiles_per_ipu=9)
