"""The op on the emulator against the float64 reference."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Dict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ipulse_ops.lif.network import LIF, LeakyReadout, Network
from ipulse_ops.lif.poplar.arrays import PoplarLIF
from ipulse_ops.lif.poplar.attributes import Wanted
from ipulse_ops.surrogate import SuperSpike
from tests.ops.lif.poplar.variants import (
    assert_bit_equal,
    assert_gradients,
    compiled,
    op_problems,
    run_both,
    run_reference,
    split_over,
)
from tests.ops.strategies import Problem, random_problem

ALL = Wanted(membranes=True, input_gradients=True, constant_gradients=True)


def network_of(neurons: int = 9, delay: int = 0, **fields: Any) -> Network:
    """Two layers that a few inputs drive over their thresholds."""
    layer = LIF(neurons=neurons, decay=0.5, gain=2.0, **fields)
    readout = LeakyReadout(neurons=3, decay=0.5, gain=2.0)
    return Network(inputs=11, layers=(layer, layer), readout=readout, delay=delay)


class TestDyadic:
    """float32 sums of these problems are exact, so that every order of summation agrees."""

    @settings(max_examples=50)
    @given(problem=op_problems(dyadic=True), ipus=st.sampled_from([1, 2, 4]))
    def test_any_network_is_bit_equal(self, problem: Problem, ipus: int) -> None:
        p = problem
        with compiled(problem, split_over(problem, ipus), wanted=Wanted(membranes=True)) as op:
            assert_bit_equal(op.forward(p.weights, p.ids, p.counts, p.seed), run_reference(problem))

    @pytest.mark.old_python
    @pytest.mark.parametrize("delay", [0, 1])
    @pytest.mark.parametrize(
        ("steps", "batch", "neurons", "fields"),
        [
            (1, 1, 1, {}),
            (1, 1, 9, {"capacity": 1}),
            (4, 7, 9, {"capacity": 9}),
            (3, 25, 8, {"capacity": 2}),
            (3, 2, 9, {"second_threshold": 0.5, "capacity": 1}),
        ],
        ids=["one-of-all", "one-slot", "all-slots", "25-samples", "gated-one-slot"],
    )
    def test_edges(
        self, delay: int, steps: int, batch: int, neurons: int, fields: Dict[str, Any]
    ) -> None:
        network = network_of(neurons, delay, **fields)
        problem = random_problem(network, seed=2, steps=steps, batch=batch, dyadic=True)
        for ipus in (1, 4):
            with compiled(problem, split_over(problem, ipus), tiles=5) as op:
                run, trace = run_both(op, problem)
                assert_bit_equal(run, run_reference(problem))
                assert_gradients(op, problem, trace)

    def test_silent_and_saturated_layers(self) -> None:
        network = network_of(capacity=4, second_threshold=0.5)
        problem = random_problem(network, seed=7, steps=3, batch=2, slots=5, dyadic=True)
        with compiled(problem) as op:
            for drive, rate in ((-1, 0), (1, 1)):
                weights = [drive * np.full_like(matrix, 0.25) for matrix in problem.weights]
                ids = np.broadcast_to(np.arange(5, dtype=np.int32), problem.ids.shape).copy()
                full = replace(
                    problem, weights=tuple(weights), ids=ids, counts=problem.counts * 0 + 5
                )
                trace = run_reference(full)
                assert trace.layers[0].reset.mean() == rate
                run, replayed = run_both(op, full)
                assert_bit_equal(run, trace)
                assert_gradients(op, full, replayed)

    def test_thresholds_can_change_from_run_to_run(self) -> None:
        """They are tensors: a schedule compiles nothing."""
        network = network_of(capacity=4, second_threshold=0.5)
        problem = random_problem(network, seed=5, steps=4, batch=3, dyadic=True)
        results = []
        with compiled(problem) as op:
            for threshold, second in ((1.0, 0.5), (0.75, -0.25), (0.5, np.linspace(-1, 0.5, 9))):
                layers = [
                    replace(layer, threshold=threshold, second_threshold=second)
                    for layer in network.layers
                ]
                op.network = replace(network, layers=tuple(layers))
                changed = replace(problem, network=op.network)
                run, trace = run_both(op, changed)
                assert_bit_equal(run, run_reference(changed))
                assert_gradients(op, changed, trace)
                results.append([layer.spike_counts.sum() for layer in run.layers])
        assert len(set(map(tuple, results))) == 3

    def test_no_input_spike_at_all(self) -> None:
        problem = random_problem(network_of(), seed=1, steps=3, batch=2, dyadic=True)
        silent = replace(problem, counts=np.zeros_like(problem.counts))
        with compiled(silent) as op:
            assert_bit_equal(
                op.forward(silent.weights, silent.ids, silent.counts), run_reference(silent)
            )

    def test_a_second_run_starts_from_rest(self) -> None:
        problem = random_problem(network_of(recurrent=True), seed=3, dyadic=True)
        with compiled(problem) as op:
            for _ in range(2):
                run, trace = run_both(op, problem)
                assert_bit_equal(run, run_reference(problem))
                assert_gradients(op, problem, trace)


class TestGradients:
    @settings(max_examples=50)
    @given(problem=op_problems(), ipus=st.sampled_from([1, 2, 4]))
    def test_any_network_has_the_references(self, problem: Problem, ipus: int) -> None:
        with compiled(problem, split_over(problem, ipus), wanted=ALL) as op:
            _, trace = run_both(op, problem)
            assert_gradients(op, problem, trace)

    @pytest.mark.parametrize("policy", ["index", "cyclic", "top"])
    def test_policies_drop_and_agree(self, policy: str) -> None:
        """Chunks of neurons with more candidates than slots, ties included."""
        network = network_of(60, capacity=5, threshold=0.125, second_threshold=-0.25, policy=policy)
        problem = random_problem(network, seed=4, steps=4, batch=7, dyadic=True)
        for ipus in (1, 2):
            with compiled(problem, split_over(problem, ipus), tiles=32) as op:
                run, trace = run_both(op, problem)
                assert_bit_equal(run, run_reference(problem))
                assert_gradients(op, problem, trace)
            assert run.layers[0].dropped.any()

    def test_every_layers_loss_counts(self) -> None:
        problem = random_problem(network_of(), seed=3)
        with compiled(problem) as op:
            op.forward(problem.weights, problem.ids, problem.counts)
            silent = np.zeros_like(problem.grad_membrane)
            first = op.backward(silent, [problem.grad_spikes[0], None]).weights[0]
            second = op.backward(silent, [None, problem.grad_spikes[1]]).weights[0]
            both = op.backward(silent, problem.grad_spikes).weights[0]
        assert np.abs(first).max() > 0
        assert np.abs(second).max() > 0
        np.testing.assert_allclose(first + second, both, atol=1e-5 * np.abs(both).max())


def test_training_lowers_the_loss() -> None:
    """Two classes by which half of the inputs spikes; softmax cross entropy of the last step."""
    rng = np.random.Generator(np.random.PCG64(3))
    layer = LIF(neurons=24, decay=0.75, gain=4.0, second_threshold=0.3, capacity=16)
    network = Network(
        inputs=16,
        layers=(layer,),
        readout=LeakyReadout(neurons=2, decay=0.75, gain=4.0),
        surrogate=SuperSpike(4.0),
    )
    steps, batch, slots = 6, 12, 4
    labels = rng.integers(0, 2, batch)
    ids = np.sort(rng.integers(0, 8, (steps, batch, slots)) + 8 * labels[:, None], axis=2)
    counts = np.full((steps, batch), slots, np.int32)
    weights = [rng.normal(0, 0.3, shape).astype(np.float32) for shape in ((16, 24), (24, 2))]
    losses = []
    with PoplarLIF(network, steps, batch, slots, tiles_per_ipu=12) as op:
        for _ in range(20):
            logits = op.forward(weights, ids.astype(np.int32), counts).membrane[-1]
            p = np.exp(logits - logits.max(axis=1, keepdims=True))
            p /= p.sum(axis=1, keepdims=True)
            losses.append(-np.log(p[np.arange(batch), labels]).mean())
            grad = np.zeros((steps, batch, 2), np.float32)
            grad[-1] = (p - np.eye(2)[labels]) / batch
            for matrix, by in zip(weights, op.backward(grad).weights):
                matrix -= 0.05 * by
    assert losses[-1] < 0.3 * losses[0], losses
