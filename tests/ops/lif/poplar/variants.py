"""Problems for the Poplar op, and comparisons of its runs with the reference."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, List, Tuple

import numpy as np
from hypothesis import strategies as st

from ipulse_ops.lif.network import LIF
from ipulse_ops.lif.placement import Placement
from ipulse_ops.lif.poplar.arrays import PoplarLIF, PoplarRun
from ipulse_ops.lif.reference import network_pass as reference
from ipulse_ops.lif.reference.trace import Trace
from tests.ops.strategies import Problem, problems

TILES = 12  # of an emulated IPU: enough for several tiles a layer and several neurons a tile


def op_problems(dyadic: bool = False, adapts: bool = True) -> st.SearchStrategy[Problem]:
    """Every variant of a network that the op takes, small."""
    sizes = {"max_neurons": 20, "max_batch": 8, "max_steps": 5}
    found = problems(dyadic=dyadic, variants=True, adapts=adapts, delays=False, **sizes)
    return found.map(_supported)


def _supported(problem: Problem) -> Problem:
    """Replace what the op does not combine with adaptive thresholds."""
    network = problem.network
    if not any(layer.adapts for layer in network.spiking):
        return problem
    readout = network.readout
    if isinstance(readout, LIF) and readout.policy == "top":
        readout = replace(readout, policy="index")
    layers = tuple(
        replace(layer, policy="index") if layer.policy == "top" else layer
        for layer in network.layers
    )
    gradient = "mask" if network.reset_gradient == "none" else network.reset_gradient
    changed = replace(network, layers=layers, readout=readout, reset_gradient=gradient)
    return replace(problem, network=changed)


def split_over(problem: Problem, ipus: int) -> Placement:
    """Every layer's neurons on all IPUs, unless its policy needs them on one."""
    if any(layer.policy == "top" for layer in problem.network.spiking):
        return Placement()
    return Placement(ipus=ipus, split="neurons")


def compiled(
    problem: Problem,
    placement: Placement = Placement(),
    tiles: int = TILES,
    **more: Any,
) -> PoplarLIF:
    steps, batch, slots = problem.ids.shape
    return PoplarLIF(problem.network, steps, batch, slots, placement, tiles_per_ipu=tiles, **more)


def run_both(op: PoplarLIF, problem: Problem) -> Tuple[PoplarRun, Trace]:
    """The op's forward pass, and the reference's that replays its spikes."""
    p = problem
    run = op.forward(p.weights, p.ids, p.counts, p.seed)
    replay = [
        (layer.spike_ids.astype(np.int32), layer.spike_counts.astype(np.int32))
        for layer in run.layers
    ]
    return run, reference.forward(p.network, p.weights, p.ids, p.counts, replay, p.seed)


def run_reference(problem: Problem) -> Trace:
    """Run the reference on a problem, without replay."""
    p = problem
    return reference.forward(p.network, p.weights, p.ids, p.counts, seed=p.seed)


def assert_bit_equal(run: PoplarRun, trace: Trace) -> None:
    """Assert equality for problems with exact float32 sums; surrogates are rounded."""
    np.testing.assert_array_equal(run.membrane, trace.membrane)
    for ours, theirs in zip(run.layers, trace.layers):
        np.testing.assert_array_equal(ours.spike_counts, theirs.spike_counts)
        np.testing.assert_array_equal(ours.spike_ids, theirs.spike_ids)
        np.testing.assert_array_equal(ours.dropped, theirs.dropped)
        np.testing.assert_allclose(ours.surrogate, theirs.surrogate, rtol=1e-5, atol=1e-7)
        if ours.membrane is not None:
            np.testing.assert_array_equal(ours.membrane, theirs.u)


def assert_gradients(op: PoplarLIF, problem: Problem, trace: Trace) -> None:
    """The op's gradients are the reference's, all that it was compiled for, for the same spikes
    and a loss on the spikes of every layer and, if they are outputs, their membranes.

    An entry is a float32 sum whose terms may cancel, those of a layer of one neuron all at once:
    its error is measured by its array's largest entry, or by a tenth of the largest of all arrays.
    """
    p = problem
    grad_u = p.grad_u if op.wanted.membranes else None
    loss = (p.grad_membrane, p.grad_spikes, grad_u)
    baseline = reference.backward(p.network, p.weights, p.ids, p.counts, trace, *loss)
    gradients = op.backward(*loss)
    pairs: List[Tuple[Any, Any]] = list(zip(gradients.weights, baseline.weights))
    if op.wanted.input_gradients:
        pairs.append((gradients.inputs, baseline.inputs))
    if op.wanted.constant_gradients:
        for ours, theirs in zip(gradients.constants, baseline.constants):
            pairs += [(getattr(ours, name), by) for name, by in vars(theirs).items()]
    largest = max(np.abs(theirs).max(initial=0) for _, theirs in pairs if theirs is not None)
    for ours, theirs in pairs:
        if theirs is None:
            assert ours is None
            continue
        scale = max(np.abs(theirs).max(initial=0), 0.1 * largest, 1.0)
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-5 * scale)
