"""The problems that reference and kernels are judged by do contain the cases that matter."""

from __future__ import annotations

from typing import Any, Callable, Dict

import numpy as np
import pytest
from hypothesis import Phase, find, settings

from ops.lif.reference import Trace, forward
from tests.ops.strategies import Problem, problems


def run(problem: Problem) -> Trace:
    return forward(problem.network, problem.weights, problem.ids, problem.counts)


# Any example will do, it need not be the smallest.
UNSHRUNK = settings(phases=[Phase.generate], max_examples=500)

CASES: Dict[str, Callable[[Problem], Any]] = {
    "dropped spikes in every layer": lambda p: all(layer.dropped.any() for layer in run(p).layers),
    "spikes in the last of three layers": lambda p: (
        len(p.network.layers) == 3 and run(p).layers[2].spike_counts[..., 0].any()
    ),
    "slots filled by gradient-only neurons": lambda p: any(
        np.any((trace.spike_counts[..., 0] > 0) & (trace.spike_counts[..., 1] == layer.capacity))
        and not trace.dropped.any()
        for layer, trace in zip(p.network.layers, run(p).layers)
    ),
    "a step without input": lambda p: np.any(p.counts == 0) and np.any(p.counts > 0),
    "an id listed twice": lambda p: np.any(
        (p.ids[..., 1:] == p.ids[..., :-1]) & (np.arange(1, p.ids.shape[2]) < p.counts[..., None])
    ),
    "a neuron without memory": lambda p: any(
        np.any(layer.decay == 0) for layer in p.network.layers
    ),
    "one step, one sample": lambda p: p.counts.shape == (1, 1),
    "more than 32 neurons": lambda p: p.network.layers[0].neurons > 32,
}


class TestProblems:
    @pytest.mark.parametrize("case", CASES)
    def test_contain(self, case: str) -> None:
        find(problems(), lambda problem: bool(CASES[case](problem)), settings=UNSHRUNK)

    def test_contain_membranes_at_the_threshold_if_dyadic(self) -> None:
        def tie(problem: Problem) -> bool:
            pairs = zip(problem.network.layers, run(problem).layers)
            return any(np.any(trace.u == layer.threshold) for layer, trace in pairs)

        find(problems(dyadic=True), tie, settings=UNSHRUNK)
