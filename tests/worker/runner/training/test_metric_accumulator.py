from __future__ import annotations

import numpy as np
import pytest

from ipulse_worker.runner.training.metric_accumulator import MetricAccumulator


class TestTally:
    def test_means_are_over_all_samples_not_over_batches(self) -> None:
        """Batches of 8 and 2 samples, 5 steps, layers of 10 and 4 neurons."""
        metrics = MetricAccumulator(["1", "readout"], [10, 4], steps=5)
        metrics.add(np.array([8, 16.0, 8, 4.0, 40, 16, 80, 32, 3, 0]))
        metrics.add(np.array([2, 9.0, 0, 0.0, 10, 0, 20, 8, 0, 1]))
        assert metrics.loss == 2.5
        assert metrics.score == 0.8
        assert metrics.penalty == 0.4
        np.testing.assert_allclose(metrics.firing_rates, [50 / (10 * 5 * 10), 16 / (10 * 5 * 4)])
        np.testing.assert_allclose(metrics.active_gradient_fractions, [100 / 500, 40 / 200])
        assert metrics.dropped.tolist() == [3, 1]

    def test_names_figures_by_layer(self) -> None:
        metrics = MetricAccumulator(["readout"], [10], steps=5)
        metrics.add(np.array([1, 0.5, 1, 0, 5, 10, 2]))
        assert metrics.values() == {
            "loss": 0.5,
            "accuracy": 1.0,
            "firing_rate/readout": pytest.approx(0.1),
            "gradient_set/readout": pytest.approx(0.2),
            "overflow/readout": 2.0,
        }
