"""Bounds of the membranes in a training: hidden layers and readout stay within them."""

from __future__ import annotations

import signal
from typing import Any, Dict, Iterator, List

import numpy as np
import pytest

from ipulse_worker.runner.cancellation import Cancellation
from tests.worker.runner.trainings import recorded_progress, spec_of, training_of

LOW, HIGH = -0.5, 0.8


@pytest.fixture
def cancellation() -> Iterator[Cancellation]:
    before = signal.getsignal(signal.SIGTERM)
    yield Cancellation()
    signal.signal(signal.SIGTERM, before)


def excess(cancellation: Cancellation, **bound: Any) -> List[float]:
    """Return the mean excess of both hidden layers' and the readout's membranes after training."""
    regularisers: List[Dict[str, Any]] = []
    if bound:
        regularisers = [{"kind": "membrane", "low": LOW, "high": HIGH, "strength": 20.0, **bound}]
    settings = {"epochs": 10, "batch_size": 32, "regularisers": regularisers}
    training = training_of(spec_of(training=settings))
    with recorded_progress(training) as (progress, _):
        training.run(progress, cancellation, lambda: None)
    if bound:
        penalties = training.history.epochs("penalty")
        assert penalties[-1] < penalties[0]
    training.model.net.return_membranes = True
    ids, counts = training.dataset.trains.batch(training.dataset.test)
    out = training.model.net(ids, counts, training=False)
    membranes = [np.asarray(each) for each in (*out.membranes, out.membrane)]
    return [float((np.maximum(u - HIGH, 0) + np.maximum(LOW - u, 0)).mean()) for u in membranes]


def test_bounds_the_layers_that_it_names(cancellation: Cancellation) -> None:
    free = excess(cancellation)
    second = excess(cancellation, layers=[2])
    everything = excess(cancellation, readout=True)
    assert second[1] < 0.8 * free[1]
    assert second[0] > 0.8 * free[0]
    assert all(bound < other for bound, other in zip(everything, free))
    assert sum(everything) < 0.8 * sum(free)
