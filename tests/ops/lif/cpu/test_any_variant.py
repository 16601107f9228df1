"""Any variant of the network computes what the reference does."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any, Dict

import numpy as np
import pytest

from ipulse_ops.lif.cpu import native
from tests.ops.lif.cpu.kernels import (
    assert_near_reference,
    assert_same_bits,
    assert_same_on_every_kernel,
    gradients,
    masks,
    run,
)
from tests.ops.lif.cpu.test_variants import FLAGS, VARIANTS, assert_rounded
from tests.ops.lif.variants import eventful, varied, with_gradient_only
from tests.ops.strategies import Problem, random_problem


def problem_of(variant: Dict[str, Any], gate: bool = True) -> Problem:
    network = varied(2, gate, **variant)
    steps = 6 + 3 * max(variant.get("delay", 0) - 1, 0)  # spikes arrive in time
    return eventful(network, drops="capacity" in variant.get("fields", {}), steps=steps)[0]


@pytest.mark.parametrize("variant", VARIANTS)
class TestAnyVariant:
    def test_threads_and_runs_agree_to_the_bit(self, variant: Dict[str, Any]) -> None:
        problem = random_problem(varied(3, **variant), seed=5, steps=9, batch=7)
        problem = with_gradient_only(problem)
        arch = native.supported_arch()
        first = run(problem, arch, u=True)
        grads = gradients(problem, first, arch, everything=True)
        for threads in (1, 2, 3):
            other = run(problem, arch, threads, u=True)
            for layer, same in zip(first.layers, other.layers):
                np.testing.assert_array_equal(layer.u, same.u)
                np.testing.assert_array_equal(layer.bits, same.bits)
            assert_same_bits(grads, gradients(problem, other, arch, threads, everything=True))

    @pytest.mark.parametrize("gate", FLAGS)
    @pytest.mark.parametrize("everything", FLAGS)
    def test_instruction_sets_agree_to_the_bit(
        self, variant: Dict[str, Any], gate: bool, everything: bool
    ) -> None:
        problem = random_problem(varied(2, gate, **variant), seed=6, steps=20, batch=3)
        assert_same_on_every_kernel(with_gradient_only(problem), everything=everything)

    @pytest.mark.parametrize("everything", FLAGS)
    def test_stored_spikes_give_the_bits_of_stored_membranes(
        self, variant: Dict[str, Any], everything: bool
    ) -> None:
        for gate, arch in product(FLAGS, masks()):
            problem = problem_of(variant, gate)
            full, spikes = run(problem, arch), run(problem, arch, store="spikes")
            assert all(layer.membranes.size == 0 for layer in spikes.layers)
            one = gradients(problem, full, arch, everything=everything)
            two = gradients(problem, spikes, arch, everything=everything, store="spikes")
            assert_same_bits(one, two)

    @pytest.mark.parametrize("gate", FLAGS)
    def test_bfloat16_weights_are_rounded_ones(self, variant: Dict[str, Any], gate: bool) -> None:
        for arch, threads in product(masks(), (1, 2)):
            assert_rounded(problem_of(variant, gate), arch, threads)

    def test_narrow_ids_are_the_same_spikes(self, variant: Dict[str, Any]) -> None:
        problem, arch = with_gradient_only(problem_of(variant)), native.supported_arch()
        narrow = replace(problem, ids=problem.ids.astype(np.uint16))
        forward, expected = run(narrow, arch), run(problem, arch)
        np.testing.assert_array_equal(forward.membrane, expected.membrane)
        actual = gradients(narrow, forward, arch, everything=True)
        assert_same_bits(actual, gradients(problem, expected, arch, everything=True))

    @pytest.mark.old_python
    @pytest.mark.parametrize(("steps", "batch"), [(1, 1), (1, 5), (7, 1), (0, 2), (2, 0)])
    def test_short_and_narrow(self, variant: Dict[str, Any], steps: int, batch: int) -> None:
        arch = native.supported_arch()
        problem = random_problem(varied(2, **variant), seed=1, steps=steps, batch=batch)
        forward = run(problem, arch)
        for everything in FLAGS:
            actual = gradients(problem, forward, arch, everything=everything)
            assert_near_reference(problem, forward, actual)

    @pytest.mark.parametrize("drive", [-1.0, 1.0], ids=["silent", "saturated"])
    def test_no_spikes_and_nothing_but_spikes(self, variant: Dict[str, Any], drive: float) -> None:
        problem, arch = problem_of(variant), native.supported_arch()
        every = np.broadcast_to(np.arange(problem.ids.shape[2], dtype=np.int32), problem.ids.shape)
        problem = replace(
            problem,
            weights=tuple(np.full_like(weights, drive) for weights in problem.weights),
            ids=np.ascontiguousarray(every),
            counts=np.full_like(problem.counts, every.shape[2]),
        )
        forward = run(problem, arch, u=True)
        first, u = problem.network.layers[0], forward.layers[0].u
        assert u is not None
        assert np.mean(u > first.threshold) == (drive > 0)
        actual = gradients(problem, forward, arch, everything=True)
        assert_near_reference(problem, forward, actual)


class TestOptions:
    problem = random_problem(varied(1), seed=0)

    @pytest.mark.parametrize("option", ["store", "weight_type"])
    def test_unknown_choices_are_named(self, option: str) -> None:
        with pytest.raises(ValueError, match=f"{option} must be .* or .*; got all"):
            run(self.problem, 0, **{option: "all"})

    def test_a_seed_must_have_64_bits(self) -> None:
        with pytest.raises(ValueError, match=r"seed must be 0 to 2\^64 - 1"):
            run(replace(self.problem, seed=2**64), 0)

    def test_a_store_of_nothing_has_no_gradient(self) -> None:
        forward = run(self.problem, 0, store="nothing")
        with pytest.raises(ValueError, match="stored nothing"):
            gradients(self.problem, forward, 0, store="nothing")
