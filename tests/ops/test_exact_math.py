"""Elementary functions, to a few units in the last place of the C library's."""

from __future__ import annotations

import math

import numpy as np

from ipulse_ops import exact_math

RNG = np.random.Generator(np.random.PCG64(2))
CLOSE = 4 * 2.0**-52


def test_exp() -> None:
    x = np.concatenate([RNG.uniform(-700, 700, 2000), RNG.normal(size=2000) / 100, [0.0]])
    expected = [math.exp(value) for value in x]
    np.testing.assert_allclose(exact_math.exp(x), expected, rtol=CLOSE)
    assert exact_math.exp(0.0) == 1.0


def test_log() -> None:
    x = np.concatenate([np.exp2(RNG.uniform(-1000, 1000, 2000)), 1 + RNG.normal(size=2000) / 100])
    expected = [math.log(value) for value in x]
    np.testing.assert_allclose(exact_math.log(x), expected, rtol=CLOSE)
    assert exact_math.log(1.0) == 0.0


def test_sine_and_cosine_of_turns() -> None:
    turns = np.concatenate([RNG.uniform(-3, 3, 2000), np.arange(-16, 17) / 8])
    sines = [math.sin(2 * math.pi * (value - round(value))) for value in turns]
    cosines = [math.cos(2 * math.pi * (value - round(value))) for value in turns]
    np.testing.assert_allclose(exact_math.sine_of_turns(turns), sines, atol=4e-16)
    np.testing.assert_allclose(exact_math.cosine_of_turns(turns), cosines, atol=4e-16)
    quarters = exact_math.sine_of_turns([0.0, 0.25, 0.5, 0.75, 1.0])
    assert quarters.tolist() == [0.0, 1.0, 0.0, -1.0, 0.0]
