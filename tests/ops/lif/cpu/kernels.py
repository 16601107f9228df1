"""Every kernel of the list as a parameter of a test; what this machine lacks is skipped."""

from __future__ import annotations

from itertools import product
from typing import Any, List, Optional, Sequence, Tuple, Union

import numpy as np
import pytest

from ipulse_core.spec.start_weights import CONSTANTS
from ipulse_ops.lif.cpu import arrays, native
from ipulse_ops.lif.network import LIF, LeakyReadout, Network, SuperSpike
from ipulse_ops.lif.reference import network_pass as reference
from tests.ops.strategies import Problem

# A panel is 1, 2, 4 or 8 vectors of 8 or 16 neurons: sizes below, at and above such edges.
TAILS = (1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 100, 127, 128, 129, 255, 257, 300)


def every_kernel() -> Any:
    """Parametrizes a test by `arch`, the CPU mask of each kernel."""
    supported = native.supported_arch()
    kernels = native.kernels()
    parameters: List[Any] = []
    for name, arch in kernels.items():
        missing = arch & ~supported
        mark = pytest.mark.skipif(bool(missing), reason=f"this CPU lacks features {missing:#x}")
        parameters.append(pytest.param(arch, id=name, marks=mark))
    return pytest.mark.parametrize("arch", parameters)


def masks() -> List[int]:
    """The CPU masks of the kernels that this machine supports."""
    supported = native.supported_arch()
    return [arch for arch in native.kernels().values() if not arch & ~supported]


def network_of(
    sizes: Tuple[int, ...],
    inputs: int = 20,
    classes: int = 5,
    delay: int = 0,
    reset_gradient: str = "mask",
    slope: float = 10.0,
    **constants: Any,
) -> Network:
    """Layers of these sizes with the same dyadic constants unless others are given."""
    constants = {"decay": 0.75, "threshold": 1.0, "gain": 4.0, **constants}
    return Network(
        inputs=inputs,
        layers=tuple(LIF(neurons=neurons, **constants) for neurons in sizes),
        readout=LeakyReadout(neurons=classes, decay=0.5, gain=2.0),
        delay=delay,
        reset_gradient=reset_gradient,
        surrogate=SuperSpike(slope=slope),
    )


def run(problem: Problem, arch: int, threads: int = 1, **options: Any) -> arrays.NetworkRun:
    """The kernel's forward pass of a problem."""
    p = problem
    return arrays.forward(
        *(p.network, p.weights, p.ids, p.counts),
        seed=p.seed,
        threads=threads,
        arch=arch,
        **options,
    )


def gradients(
    problem: Problem,
    forward: arrays.NetworkRun,
    arch: int,
    threads: int = 1,
    everything: bool = False,
    **options: Any,
) -> arrays.KernelGradients:
    """The kernel's backward pass of a problem.

    everything: of a loss on all membranes too, and by inputs and constants. Without, as in
        training, most networks take a faster way.
    """
    p = problem
    return arrays.backward(
        *(p.network, p.weights, p.ids, p.counts, forward, p.grad_membrane, p.grad_spikes),
        grad_u=p.grad_u if everything else None,
        inputs=everything,
        constants=everything,
        threads=threads,
        arch=arch,
        **options,
    )


def assert_same_forward(forward: arrays.NetworkRun, trace: reference.Trace) -> None:
    """Assert equality to the bit, for problems with exact float32 sums."""
    np.testing.assert_array_equal(forward.membrane, trace.membrane)
    for layer, exact in zip(forward.layers, trace.layers):
        np.testing.assert_array_equal(layer.spike_counts, exact.spike_counts)
        np.testing.assert_array_equal(layer.spike_ids, exact.spike_ids)
        np.testing.assert_array_equal(layer.dropped, exact.dropped)
        if layer.u is not None:
            np.testing.assert_array_equal(layer.u, exact.u)


def assert_same_bits(one: arrays.KernelGradients, other: arrays.KernelGradients) -> None:
    """Assert that the results of two calls are equal to the bit."""
    for (name, left), (_, right) in zip(_named(one), _named(other)):
        np.testing.assert_array_equal(as_words(left), as_words(right), name)


def assert_same_on_every_kernel(
    problem: Problem, threads: Sequence[int] = (1,), **options: Any
) -> arrays.KernelGradients:
    """Assert that kernels and numbers of threads agree to the bit; return the gradients."""
    first: Optional[Tuple[arrays.NetworkRun, arrays.KernelGradients]] = None
    for arch, count in product(masks(), threads):
        forward = run(problem, arch, count, u=True)
        grads = gradients(problem, forward, arch, count, **options)
        if first is None:
            first = forward, grads
        np.testing.assert_array_equal(as_words(forward.membrane), as_words(first[0].membrane))
        for layer, same in zip(forward.layers, first[0].layers):
            assert layer.u is not None
            assert same.u is not None
            np.testing.assert_array_equal(as_words(layer.u), as_words(same.u))
            np.testing.assert_array_equal(layer.bits, same.bits)
            np.testing.assert_array_equal(layer.spike_ids, same.spike_ids)
        assert_same_bits(grads, first[1])
    assert first is not None
    return first[1]


def as_words(array: np.ndarray) -> np.ndarray:
    """The bits of floats as integers: zeros have signs."""
    return array.view(f"u{array.itemsize}")


def replayed(problem: Problem, forward: arrays.NetworkRun) -> reference.Trace:
    """Run the reference with the kernel's spikes."""
    p = problem
    replay = [(layer.spike_ids, layer.spike_counts) for layer in forward.layers]
    return reference.forward(p.network, p.weights, p.ids, p.counts, replay, p.seed)


def assert_near_reference(
    problem: Problem,
    forward: arrays.NetworkRun,
    actual: arrays.KernelGradients,
    tolerance: float = 1e-5,
    trace: Optional[reference.Trace] = None,
) -> None:
    """Gradients within `tolerance` of the reference's.

    trace: the reference's own; None for what it makes of the kernel's spikes.

    An entry is a sum whose terms may cancel, so that its error is measured by its array's largest
    entry, and that of an array of such sums by a hundredth of all weights' largest.
    """
    p = problem
    everything = actual.constants is not None
    exact = reference.backward(
        *(p.network, p.weights, p.ids, p.counts),
        replayed(problem, forward) if trace is None else trace,
        *(p.grad_membrane, p.grad_spikes, p.grad_u if everything else None),
    )
    largest = max(np.abs(grad).max() for grad in exact.weights)
    expected = dict(_named(exact))
    for name, grad in _named(actual):
        error = np.abs(grad - expected[name])
        allowed = tolerance * (np.abs(expected[name]).max(initial=0) + 0.01 * largest + 1e-3)
        assert np.all(error <= allowed), (
            f"{name}: off by {error.max():.2e}, allowed {allowed:.2e}; {problem!r}"
        )


def _named(
    actual: Union[arrays.KernelGradients, reference.Gradients],
) -> List[Tuple[str, np.ndarray]]:
    """Every array that is there."""
    named = [(f"weights[{number}]", grad) for number, grad in enumerate(actual.weights)]
    if actual.inputs is not None:
        named.append(("inputs", actual.inputs))
    for number, constants in enumerate(actual.constants or ()):
        for name in CONSTANTS:
            if getattr(constants, name) is not None:
                named.append((f"{name} of layer {number}", getattr(constants, name)))
    return named
