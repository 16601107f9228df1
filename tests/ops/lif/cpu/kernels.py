"""Every kernel of the list as a parameter of a test; what this machine lacks is skipped."""

from __future__ import annotations

from typing import Any, List, Tuple

import numpy as np
import pytest

from ops.lif import reference
from ops.lif.cpu import arrays, native
from ops.lif.network import LIF, LeakyReadout, Network, SuperSpike
from tests.ops.strategies import Problem

# A panel is 1, 2, 4 or 8 vectors of 8 or 16 neurons: sizes below, at and above such edges.
TAILS = (1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 100, 127, 128, 129, 255, 257, 300)


def every_kernel() -> Any:
    """Parametrizes a test by `arch`, the CPU mask of each kernel."""
    supported = native.supported_arch()
    parameters: List[Any] = []
    for name, arch in native.kernels().items():
        missing = arch & ~supported
        mark = pytest.mark.skipif(bool(missing), reason=f"this CPU lacks features {missing:#x}")
        parameters.append(pytest.param(arch, id=name, marks=mark))
    return pytest.mark.parametrize("arch", parameters)


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


def run(problem: Problem, arch: int, threads: int = 1) -> arrays.Run:
    """The kernel's forward pass of a problem."""
    p = problem
    return arrays.forward(p.network, p.weights, p.ids, p.counts, threads=threads, arch=arch)


def gradients(
    problem: Problem, forward: arrays.Run, arch: int, threads: int = 1
) -> List[np.ndarray]:
    """The kernel's backward pass of a problem."""
    p = problem
    found = arrays.backward(
        *(p.network, p.weights, p.ids, p.counts, forward, p.grad_membrane, p.grad_spikes),
        threads=threads,
        arch=arch,
    )
    return list(found.weights)


def assert_same_forward(forward: arrays.Run, trace: reference.Trace) -> None:
    """Equal to the bit: for problems whose float32 sums are exact."""
    np.testing.assert_array_equal(forward.membrane, trace.membrane)
    for layer, judge in zip(forward.layers, trace.layers):
        np.testing.assert_array_equal(layer.spike_counts, judge.spike_counts)
        np.testing.assert_array_equal(layer.spike_ids, judge.spike_ids)
        np.testing.assert_array_equal(layer.dropped, judge.dropped)


def assert_near_reference(
    problem: Problem, forward: arrays.Run, grads: List[np.ndarray], tolerance: float = 1e-5
) -> None:
    """Gradients within `tolerance` of what the reference makes of the kernel's own spikes.

    An entry is a sum whose terms may cancel, so that its error is measured by the sum of the terms'
    magnitudes: the same gradient of absolute weights and absolute gradients.
    """
    p = problem
    replay = [(layer.spike_ids, layer.spike_counts) for layer in forward.layers]
    trace = reference.forward(p.network, p.weights, p.ids, p.counts, replay)
    arguments = (p.network, p.weights, p.ids, p.counts, trace)
    judge = reference.backward(*arguments, p.grad_membrane, p.grad_spikes)
    magnitude = reference.backward(
        p.network,
        [np.abs(matrix) for matrix in p.weights],
        *(p.ids, p.counts, trace, np.abs(p.grad_membrane)),
        [np.abs(array) for array in p.grad_spikes],
    )
    for number, grad in enumerate(grads):
        error = np.abs(grad - judge.weights[number])
        allowed = tolerance * magnitude.weights[number]
        worst = np.unravel_index(np.argmax(error - allowed), error.shape)
        assert np.all(error <= allowed), (
            f"weights[{number}]{list(worst)}: {grad[worst]} against {judge.weights[number][worst]}"
            f", off by {error[worst]:.2e}, allowed {allowed[worst]:.2e}; seed {p.seed}"
        )
