"""The generated problems contain the cases that matter."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Callable, Dict

import numpy as np
import pytest
from hypothesis import Phase, find, settings

from ipulse_ops.lif.reference.network_pass import Trace, forward
from tests.ops.strategies import SURROGATES, Problem, problems


def run(problem: Problem) -> Trace:
    arguments = (problem.network, problem.weights, problem.ids, problem.counts)
    return forward(*arguments, seed=problem.seed)


def changes(problem: Problem, **network: Any) -> bool:
    """Return True if another network has other results with the same weights and input."""
    mine = run(problem)
    other = run(replace(problem, network=replace(problem.network, **network)))
    pairs = zip(mine.layers, other.layers)
    return not np.array_equal(mine.membrane, other.membrane) or any(
        not np.array_equal(one.u, two.u) for one, two in pairs
    )


def other_policy(problem: Problem, policy: str) -> bool:
    """Return True if a layer with this policy chooses other neurons than by index."""
    layers = problem.network.layers
    indexed = tuple(
        replace(layer, policy="index") if layer.policy == policy else layer for layer in layers
    )
    has_it = any(layer.policy == policy for layer in layers)
    return has_it and changes(problem, layers=indexed)


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

# Each variant makes a difference for some problem.
VARIANTS: Dict[str, Callable[[Problem], Any]] = {
    **{
        f"reset {reset}": lambda p, reset=reset: (
            p.network.reset == reset
            and all(changes(p, reset=other) for other in {"zero", "subtract", "none"} - {reset})
        )
        for reset in ("zero", "subtract", "none")
    },
    "a dropped spike that waits": lambda p: (
        p.network.reset_on == "emission" and changes(p, reset_on="state")
    ),
    "the policy cyclic": lambda p: other_policy(p, "cyclic"),
    "the policy top": lambda p: other_policy(p, "top"),
    "spikes that come back": lambda p: any(
        layer.recurrent and np.any(trace.spike_counts[:-1, :, 0])
        for layer, trace in zip(p.network.layers, run(p).layers)
    ),
    "a bias": lambda p: any(layer.bias for layer in p.network.layers) and p.network.readout.bias,
    "a synapse": lambda p: any(layer.synapse_decay is not None for layer in p.network.layers),
    "a synapse of the readout": lambda p: p.network.readout.synapse_decay is not None,
    "a readout that spikes": lambda p: (
        len(p.network.spiking) > len(p.network.layers)
        and run(p).layers[-1].spike_counts[..., 0].any()
    ),
    **{
        f"the surrogate {type(surrogate).__name__}": lambda p, surrogate=surrogate: (
            p.network.surrogate == surrogate
        )
        for surrogate in SURROGATES
    },
}


class TestProblems:
    @pytest.mark.parametrize("case", CASES)
    def test_contain(self, case: str) -> None:
        find(problems(), lambda problem: bool(CASES[case](problem)), settings=UNSHRUNK)

    @pytest.mark.parametrize("variant", VARIANTS)
    @pytest.mark.parametrize("dyadic", [False, True])
    def test_contain_what_every_variant_changes(self, variant: str, dyadic: bool) -> None:
        strategy = problems(variants=True, dyadic=dyadic)
        find(strategy, lambda problem: bool(VARIANTS[variant](problem)), settings=UNSHRUNK)

    def test_contain_membranes_at_the_threshold_if_dyadic(self) -> None:
        def tie(problem: Problem) -> bool:
            pairs = zip(problem.network.layers, run(problem).layers)
            return any(np.any(trace.u == layer.threshold) for layer, trace in pairs)

        find(problems(dyadic=True), tie, settings=UNSHRUNK)
