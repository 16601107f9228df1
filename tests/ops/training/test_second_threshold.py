from __future__ import annotations

from typing import List

import numpy as np
import pytest

from ipulse_ops.training.second_threshold import ramp, relaxed


def ramped(shape: str) -> List[float]:
    return [float(ramp(-1.0, 1.0, shape, epoch, 4)) for epoch in range(6)]


class TestRamp:
    def test_shapes(self) -> None:
        assert ramped("linear") == pytest.approx([-1, -0.5, 0, 0.5, 1, 1])
        half = np.sqrt(0.5)
        assert ramped("cosine") == pytest.approx([-1, -half, 0, half, 1, 1])
        rest = 2 * 0.01 ** np.array([0, 0.25, 0.5, 0.75])
        assert ramped("exponential") == pytest.approx([*(1 - rest), 1, 1])

    def test_ends_with_the_very_value(self) -> None:
        assert ramp(-1.0, 0.9, "cosine", 7, 7) == 0.9

    def test_is_of_each_neuron(self) -> None:
        end = np.array([1.0, 0.0, -3.0])
        np.testing.assert_allclose(ramp(-1.0, end, "linear", 1, 2), [0, -0.5, -3])

    def test_refuses_an_unknown_shape(self) -> None:
        with pytest.raises(ValueError, match="one of linear, cosine, exponential; got step"):
            ramp(0.0, 1.0, "step", 0, 1)


class TestRelaxed:
    def test_doubles_the_distance(self) -> None:
        thresholds = [relaxed(0.9, 1.0, times) for times in range(4)]
        assert thresholds == pytest.approx([0.9, 0.8, 0.6, 0.2])

    def test_moves_even_where_there_is_no_distance(self) -> None:
        assert relaxed(2.0, 2.0, 1) == pytest.approx(1.8)

    def test_is_of_each_neuron(self) -> None:
        second, threshold = np.array([0.5, 1.0]), np.array([1.0, 2.0])
        np.testing.assert_allclose(relaxed(second, threshold, 1), [0, 0])

    def test_stays_finite(self) -> None:
        assert np.isfinite(relaxed(-1e6, 1e6, 10_000))
