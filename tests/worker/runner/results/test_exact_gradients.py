"""Gradients with second thresholds are compared with exact ones."""

from __future__ import annotations

from typing import Any, Dict, List

import numpy as np
import pytest

from ipulse_worker.runner.results.exact_gradients import compare_gradients
from ipulse_worker.runner.training.loop import Training
from tests.worker.runner.trainings import spec_of, training_of


def gradients_of(training: Training) -> List[np.ndarray]:
    samples = training.dataset.training[: training.spec.training.batch_size]
    ids, counts = training.dataset.trains.batch(samples)
    wanted = training.dataset.wanted(samples)
    result = training.model.compute_gradients(ids, counts, wanted, training.step)
    return [np.ravel(array).astype(np.float64) for array in result.gradients]


def test_gradients_are_compared_with_those_without_second_thresholds() -> None:
    gated: Dict[str, Any] = {"layers": [{"neurons": 20, "second_threshold": 0.9}]}
    exact: Dict[str, Any] = {"layers": [{"neurons": 20}]}
    one, other = (training_of(spec_of(network=network)) for network in (gated, exact))
    before = gradients_of(one)
    found = compare_gradients(one)
    assert found is not None
    assert [each.name for each in found] == ["layer_1", "readout"]
    for each, ours, whole in zip(found, before, gradients_of(other)):
        lengths = np.linalg.norm(ours), np.linalg.norm(whole)
        assert each.cosine == pytest.approx(ours @ whole / np.prod(lengths), rel=1e-5)
        assert each.length == pytest.approx(lengths[0] / lengths[1], rel=1e-5)
    assert found[0].cosine < 0.999
    for ours, again in zip(before, gradients_of(one)):
        np.testing.assert_array_equal(ours, again)  # the thresholds are back
    assert compare_gradients(other) is None
