"""The forward pass of every kernel against the reference."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Dict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ipulse_ops.lif.cpu import arrays, native
from ipulse_ops.lif.reference import network_pass as reference
from tests.ops.lif.cpu.kernels import TAILS, assert_same_forward, every_kernel, network_of, run
from tests.ops.strategies import Problem, problems, random_problem


def run_reference(problem: Problem) -> reference.Trace:
    p = problem
    return reference.forward(p.network, p.weights, p.ids, p.counts, seed=p.seed)


@every_kernel()
class TestDyadic:
    """float32 sums of these problems are exact, so that every order of summation agrees."""

    @settings(max_examples=100)
    @given(problem=problems(dyadic=True, variants=True), u=st.booleans())
    def test_any_problem_is_bit_equal(self, arch: int, problem: Problem, u: bool) -> None:
        assert_same_forward(run(problem, arch, u=u), run_reference(problem))

    @pytest.mark.parametrize("neurons", TAILS)
    @pytest.mark.parametrize(
        "constants",
        [{}, {"second_threshold": 0.5}, {"second_threshold": 0.5, "capacity": 1}, {"capacity": 1}],
        ids=["all", "gated", "gated-one-slot", "one-slot"],
    )
    def test_panel_edges(self, arch: int, neurons: int, constants: Dict[str, Any]) -> None:
        network = network_of((neurons, neurons), classes=neurons, **constants)
        problem = random_problem(network, seed=neurons, steps=3, batch=2, dyadic=True)
        trace = run_reference(problem)
        assert_same_forward(run(problem, arch), trace)
        if neurons >= 8:
            assert trace.layers[0].reset.any()
            assert not trace.layers[0].reset.all()

    @pytest.mark.parametrize("delay", [0, 1])
    @pytest.mark.parametrize(("steps", "batch"), [(1, 1), (1, 5), (4, 1), (0, 2), (2, 0)])
    def test_short_and_narrow(self, arch: int, steps: int, batch: int, delay: int) -> None:
        network = network_of((33, 17), delay=delay, second_threshold=0.5)
        problem = random_problem(network, seed=1, steps=steps, batch=batch, dyadic=True)
        assert_same_forward(run(problem, arch), run_reference(problem))

    @pytest.mark.parametrize("delay", [0, 1])
    def test_many_spikes_in_any_order(self, arch: int, delay: int) -> None:
        # More channels than one block of weights has, and no multiple of the steps in a bundle.
        network = network_of((70, 70), inputs=2000, delay=delay, bias=True)
        problem = random_problem(network, seed=delay, steps=11, batch=2, dyadic=True)
        rng = np.random.Generator(np.random.PCG64(3))
        places = (rng.permutation(network.inputs) for _ in np.ndindex(problem.counts.shape))
        ids = np.reshape(list(places), (*problem.counts.shape, network.inputs))
        counts = rng.integers(800, 1200, size=problem.counts.shape)
        busy = replace(problem, ids=ids.astype(np.int32), counts=counts.astype(np.int32))
        trace = run_reference(busy)
        assert_same_forward(run(busy, arch), trace)
        assert trace.layers[0].reset.any()

    def test_silent_and_saturated_layers(self, arch: int) -> None:
        rng = np.random.Generator(np.random.PCG64(7))
        network = network_of((40, 40), second_threshold=0.5, capacity=10)
        for drive, rate in ((-1, 0), (1, 1)):
            problem = random_problem(network, seed=7, steps=3, batch=2, dyadic=True)
            weights = [drive * np.full_like(matrix, 0.25) for matrix in problem.weights]
            counts = np.full_like(problem.counts, 20)
            ids = np.sort(rng.integers(0, 20, problem.ids.shape), axis=2).astype(np.int32)
            arguments = (network, weights, ids, counts)
            trace = reference.forward(*arguments)
            assert trace.layers[0].reset.mean() == rate
            assert_same_forward(arrays.forward(*arguments, arch=arch), trace)

    def test_a_full_capacity_drops_and_counts(self, arch: int) -> None:
        network = network_of((64,), capacity=1)
        problem = random_problem(network, seed=3, steps=4, batch=3, dyadic=True)
        forward = run(problem, arch)
        assert forward.layers[0].dropped.max() > 1
        assert forward.layers[0].spike_counts[..., 0].max() == 1
        assert_same_forward(forward, run_reference(problem))


@every_kernel()
def test_membranes_that_outgrow_the_caches(arch: int) -> None:
    """They are written past the caches, which shows in nothing but the time."""
    network = network_of((1024,), inputs=8)
    whole = random_problem(network, seed=6, steps=64, batch=65)
    forward = run(whole, arch, threads=2)
    written = forward.layers[0].membranes
    assert written.nbytes > 16 << 20
    assert written.ctypes.data % 64 == 0
    parts = [
        run(replace(whole, ids=whole.ids[:, samples], counts=whole.counts[:, samples]), arch)
        for samples in (slice(32), slice(32, 65))
    ]
    np.testing.assert_array_equal(
        forward.membrane, np.concatenate([part.membrane for part in parts], axis=1)
    )
    assert all(part.layers[0].membranes.nbytes < 16 << 20 for part in parts)
    # They are stored in panels of the kernel's width.
    np.testing.assert_array_equal(
        np.sort(written), np.sort(np.concatenate([part.layers[0].membranes for part in parts]))
    )


class TestEveryKernel:
    def test_the_list_reaches_from_plain_code_to_this_machine(self) -> None:
        kernels = native.kernels()
        runnable = [name for name, arch in kernels.items() if not arch & ~native.supported_arch()]
        assert kernels["scalar"] == 0
        assert native.description(arch=0)["kernel"] == "scalar"
        assert native.description()["kernel"] == runnable[0]

    @settings(max_examples=50)
    @given(problem=problems(variants=True))
    def test_instruction_sets_and_threads_agree_on_any_floats(self, problem: Problem) -> None:
        supported = native.supported_arch()
        masks = [arch for arch in native.kernels().values() if not arch & ~supported]
        first = run(problem, masks[0], threads=1)
        assert np.isfinite(first.membrane).all()
        for arch in masks:
            for threads in (1, 2, 3):
                other = run(problem, arch, threads=threads)
                np.testing.assert_array_equal(first.membrane, other.membrane)
                for layer, same in zip(first.layers, other.layers):
                    np.testing.assert_array_equal(layer.spike_ids, same.spike_ids)

    def test_float_sums_stay_near_the_reference_for_the_same_spikes(self) -> None:
        network = network_of((200, 100), inputs=150, decay=0.95, gain=10.0, second_threshold=0.9)
        problem = random_problem(network, seed=5, steps=60, batch=4)
        forward = run(problem, native.supported_arch())
        replay = [(layer.spike_ids, layer.spike_counts) for layer in forward.layers]
        p = problem
        trace = reference.forward(p.network, p.weights, p.ids, p.counts, replay)
        assert trace.layers[1].reset.any()
        scale = np.abs(trace.membrane).max()
        np.testing.assert_allclose(forward.membrane, trace.membrane, rtol=0, atol=1e-5 * scale)


class TestInput:
    network = network_of((8,))

    @pytest.mark.parametrize(
        ("t", "b", "k", "value"), [(0, 0, 0, -1), (2, 1, 3, 20), (1, 1, 0, 2**31 - 1)]
    )
    def test_ids_out_of_range_are_named(self, t: int, b: int, k: int, value: int) -> None:
        problem = random_problem(self.network, seed=0, steps=3, batch=2)
        ids, counts = problem.ids.copy(), np.full_like(problem.counts, 4)
        ids[t, b, k] = value
        with pytest.raises(ValueError, match=rf"ids\[{t}, {b}, {k}\] is {value}; .* 0 to 19"):
            arrays.forward(self.network, problem.weights, ids, counts)

    @pytest.mark.parametrize("value", [-1, 21])
    def test_counts_out_of_range_are_named(self, value: int) -> None:
        problem = random_problem(self.network, seed=0, steps=3, batch=2)
        counts = problem.counts.copy()
        counts[2, 1] = value
        with pytest.raises(ValueError, match=rf"counts\[2, 1\] is {value}; .* 0 to 20"):
            arrays.forward(self.network, problem.weights, problem.ids, counts)

    @pytest.mark.parametrize("value", [4, 21])
    def test_gradient_only_counts_out_of_range_are_named(self, value: int) -> None:
        problem = random_problem(self.network, seed=0, steps=3, batch=2)
        counts = np.full((3, 2, 2), 5, np.int32)
        counts[2, 1, 1] = value
        with pytest.raises(ValueError, match=rf"filled\[2, 1\] is {value}; .* 5, .* to 20"):
            arrays.forward(self.network, problem.weights, problem.ids, counts)
        ids, counts[2, 1, 1] = problem.ids.copy(), 6
        ids[2, 1, 5] = 20
        with pytest.raises(ValueError, match=r"ids\[2, 1, 5\] is 20; .* 0 to 19"):
            arrays.forward(self.network, problem.weights, ids, counts)

    def test_slots_after_the_counts_are_not_read(self) -> None:
        problem = random_problem(self.network, seed=0, steps=3, batch=2)
        ids = np.where(np.arange(20) < problem.counts[..., None], problem.ids, -7).astype(np.int32)
        forward = arrays.forward(self.network, problem.weights, ids, problem.counts)
        np.testing.assert_array_equal(forward.membrane, run(problem, 0).membrane)

    @pytest.mark.old_python
    def test_wrong_shapes_and_dtypes_are_named(self) -> None:
        problem = random_problem(self.network, seed=0, steps=3, batch=2)
        weights, wide = list(problem.weights), problem.ids.astype(np.int64)
        with pytest.raises(ValueError, match=r"weights\[0\] must have shape \(20, 8\)"):
            arrays.forward(self.network, [weights[0].T, weights[1]], problem.ids, problem.counts)
        with pytest.raises(ValueError, match="ids must be int32"):
            arrays.forward(self.network, weights, wide, problem.counts)
        with pytest.raises(ValueError, match="needs 2 weights; got 1"):
            arrays.forward(self.network, weights[:1], problem.ids, problem.counts)
