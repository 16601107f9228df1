"""Every variant of a network in every kernel, against the reference."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any, Dict, Iterator, Tuple

import numpy as np
import pytest

from ipulse_ops.lif.cpu import native
from ipulse_ops.lif.network import LIF, LeakyReadout, Network
from ipulse_ops.lif.reference import network_pass as reference
from tests.ops.lif.cpu.kernels import (
    assert_near_reference,
    assert_same_bits,
    assert_same_forward,
    every_kernel,
    gradients,
    masks,
    network_of,
    run,
)
from tests.ops.lif.variants import RESETS, varied, with_gradient_only
from tests.ops.strategies import SURROGATES, Problem, random_problem

FLAGS = (False, True)
STORES = ("membranes", "spikes")
SLOTS: Tuple[Dict[str, Any], ...] = (
    {},
    *({"capacity": 3, "policy": policy} for policy in ("index", "cyclic", "top")),
)


def dyadic_networks(reset: str, reset_on: str) -> Iterator[Network]:
    """The product of all that a network with these resets can be, with exact constants."""
    rng = np.random.Generator(np.random.PCG64(1))

    def integrator(neurons: int, synapse: bool, bias: bool) -> Dict[str, Any]:
        return {
            "neurons": neurons,
            "decay": rng.choice([0.0, 0.5, 0.75], neurons),
            "gain": rng.choice([2.0, 4.0], neurons),
            "synapse_decay": rng.choice([0.0, 0.5], neurons) if synapse else None,
            "bias": bias,
        }

    flags = product(SLOTS, *[FLAGS] * 7)
    for number, (slots, *switches) in enumerate(flags):
        gate, recurrent, synapse, bias, delayed, spiking_readout, adapts = switches
        if adapts and number % 3:
            continue

        def spiking(neurons: int) -> LIF:
            adaptation = {}
            if adapts:  # noqa: B023 (called here)
                adaptation = {
                    "adaptation_strength": rng.choice([0.25, 0.5], neurons),
                    "adaptation_decay": rng.choice([0.0, 0.5], neurons),
                    "detach_adaptation": bias,  # noqa: B023
                }
            threshold = rng.choice([0.5, 0.75, 1.0], neurons)
            return LIF(
                threshold=threshold,
                second_threshold=threshold / 2 if gate else None,  # noqa: B023 (called here)
                recurrent=recurrent,  # noqa: B023
                **slots,  # noqa: B023
                **adaptation,
                **integrator(neurons, synapse, bias),  # noqa: B023
            )

        yield Network(
            inputs=9,
            layers=(spiking(19), spiking(9)),
            readout=spiking(4) if spiking_readout else LeakyReadout(**integrator(3, synapse, bias)),
            reset=reset,
            reset_on=reset_on,
            delay=(int(delayed), (number % 3, 1, 2))[number % 2] if delayed else 0,
            truncate=None if delayed or number % 3 else 1 + number % 5,
        )


@pytest.mark.verify
@pytest.mark.parametrize(("reset", "reset_on", "reset_gradients"), RESETS)
def test_the_product_of_all_variants(
    reset: str, reset_on: str, reset_gradients: Tuple[str, ...]
) -> None:
    """Forward equal to the bit in every kernel; backward near, kernels and stores in turn."""
    dropped, kernels = 0, masks()
    for number, network in enumerate(dyadic_networks(reset, reset_on)):
        network = replace(network, surrogate=SURROGATES[number % len(SURROGATES)])
        problem = random_problem(network, seed=3, steps=4, batch=2, duplicates=True, dyadic=True)
        if number % 3:
            problem = with_gradient_only(problem)
        p = problem
        trace = reference.forward(network, p.weights, p.ids, p.counts, seed=p.seed)
        dropped += sum(int(layer.dropped.sum()) for layer in trace.layers)
        for arch in kernels:
            assert_same_forward(run(problem, arch, u=arch == kernels[0]), trace)
        for at, reset_gradient in enumerate(reset_gradients):
            arch = kernels[(number + at) % len(kernels)]
            stored = {"store": STORES[(number // 3 + at) % len(STORES)]}
            again = replace(problem, network=replace(network, reset_gradient=reset_gradient))
            forward = run(again, arch, **stored)
            actual = gradients(
                again, forward, arch, everything=(number // 5 + at) % 4 > 0, **stored
            )
            assert_near_reference(again, forward, actual, trace=trace)
    assert dropped > 100


VARIANTS: Tuple[Dict[str, Any], ...] = (
    {},
    {"fields": {"recurrent": True, "bias": True}, "reset": "subtract", "delay": 2},
    {"fields": {"synapse": True, "bias": True}, "reset": "none", "spiking_readout": True},
    {"fields": {"capacity": 4, "policy": "top"}, "reset_on": "emission"},
    {"fields": {"capacity": 4, "policy": "cyclic", "recurrent": True, "synapse": True}},
    {
        "fields": {"capacity": 3, "recurrent": True, "synapse": True, "bias": True},
        "reset": "subtract",
        "reset_on": "emission",
        "reset_gradient": "none",
        "delay": 1,
    },
    {"fields": {"adapts": True}},
    {"truncate": 3},
    {
        "fields": {"capacity": 4, "recurrent": True, "synapse": True, "adapts": True},
        "reset": "subtract",
        "truncate": 2,
    },
    {
        "fields": {"adapts": True, "detaches": True, "capacity": 4, "synapse": True},
        "reset": "subtract",
        "spiking_readout": True,
        "delay": 3,
    },
    {
        "fields": {"adapts": True, "capacity": 3, "recurrent": True, "bias": True},
        "reset": "subtract",
        "reset_on": "emission",
        "reset_gradient": "none",
        "delay": 1,
    },
    {"fields": {"adapts": True, "recurrent": True}, "reset": "none", "reset_gradient": "none"},
)


def assert_rounded(problem: Problem, arch: int, threads: int) -> None:
    """bfloat16 weights yield the bits of rounded float32 weights."""
    ties = np.float32([1 + 2**-8, 1 + 3 * 2**-8])  # to even: one down, one up
    for weights in problem.weights:
        weights.flat[:2] = ties[: weights.size]
    words = [weights.view(np.uint32) for weights in problem.weights]
    rounded = tuple(
        ((word + 0x7FFF + (word >> 16 & 1)) & np.uint32(0xFFFF0000)).view(np.float32)
        if weights.ndim == 2
        else weights
        for word, weights in zip(words, problem.weights)
    )
    assert any(np.any(one != two) for one, two in zip(rounded, problem.weights))
    exact, narrow = replace(problem, weights=rounded), {"weight_type": "bfloat16"}
    for store in STORES:
        kept = {"store": store}
        forward = run(problem, arch, threads, **narrow, **kept)
        expected = run(exact, arch, threads, **kept)
        np.testing.assert_array_equal(forward.membrane, expected.membrane)
        for layer, same in zip(forward.layers, expected.layers):
            np.testing.assert_array_equal(layer.bits, same.bits)
        for everything in FLAGS:
            actual = gradients(problem, forward, arch, threads, everything, **narrow, **kept)
            baseline = gradients(exact, expected, arch, threads, everything, **kept)
            assert_same_bits(actual, baseline)


@every_kernel()
@pytest.mark.parametrize("busy", FLAGS)
@pytest.mark.parametrize("gate", FLAGS)
def test_bfloat16_panels_of_every_width(arch: int, busy: bool, gate: bool) -> None:
    """One to eight vectors, of general floats, where few inputs spike and where most do."""
    for neurons in (5, 30, 40, 130):
        network = network_of((neurons, 2 * neurons), second_threshold=0.5 if gate else None)
        problem = random_problem(network, seed=neurons, steps=9, batch=3)
        if busy:
            every = np.broadcast_to(np.arange(20, dtype=np.int32), (9, 3, 20))
            problem = replace(problem, ids=every, counts=np.full_like(problem.counts, 17))
        assert_rounded(problem, arch, threads=2)


@every_kernel()
class TestWidePanels:
    """Layers of several panels, of more than a block of steps."""

    @pytest.mark.parametrize("gate", FLAGS)
    @pytest.mark.parametrize("recurrent", FLAGS)
    def test_every_term(self, arch: int, gate: bool, recurrent: bool) -> None:
        fields = {"recurrent": recurrent, "bias": True, "synapse_decay": 0.5, "decay": 0.75}
        threshold = {"threshold": 1.0, "second_threshold": 0.5 if gate else None}
        network = Network(
            inputs=30,
            layers=tuple(LIF(neurons, gain=4.0, **threshold, **fields) for neurons in (300, 141)),
            readout=LIF(21, gain=4.0, **threshold, **fields),
            reset="subtract",
            reset_gradient="none",
        )
        problem = with_gradient_only(random_problem(network, seed=2, steps=13, batch=2, slots=12))
        forward = run(problem, arch)
        assert all(layer.spike_counts[..., 0].max() > 0 for layer in forward.layers)
        actual = gradients(problem, forward, arch, everything=True)
        assert_near_reference(problem, forward, actual, 2e-5)


class TestFirstFlip:
    @pytest.mark.parametrize("variant", VARIANTS[:4])
    def test_membranes_stay_near_until_a_spike_differs(self, variant: Dict[str, Any]) -> None:
        """Without replay: a membrane that rounds across its threshold may part the two runs."""
        problem = random_problem(varied(3, **variant), seed=8, steps=40, batch=16)
        p = problem
        trace = reference.forward(p.network, p.weights, p.ids, p.counts, seed=p.seed)
        forward = run(problem, native.supported_arch(), u=True)
        same = np.ones(p.counts.shape, dtype=bool)
        for layer, baseline in zip(forward.layers, trace.layers):
            same &= np.all(layer.spike_counts == baseline.spike_counts, axis=2)
            same &= np.all(layer.spike_ids == baseline.spike_ids, axis=2)
        before = np.logical_and.accumulate(same, axis=0)
        assert before.mean() > 0.9
        for layer, baseline in zip(forward.layers, trace.layers):
            assert layer.u is not None
            error = np.abs(layer.u - baseline.u).max(axis=2)[before]
            assert error.max() < 1e-5 * np.abs(baseline.u).max()
            assert baseline.spike_counts[..., 0].any()
