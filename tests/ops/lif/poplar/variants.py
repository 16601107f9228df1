"""Problems as the Poplar op takes them, and its runs beside the reference's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, List, Optional, Tuple

import numpy as np
from hypothesis import strategies as st

from ops.lif import reference
from ops.lif.layer_trace import Trace
from ops.lif.network import LIF, Network
from ops.lif.poplar.arrays import PoplarLIF, Run
from ops.lif.poplar.attributes import Placement
from tests.ops.strategies import Problem, problems

TILES = 12  # of an emulated IPU: enough for several tiles a layer and several neurons a tile


def by_index(network: Network) -> Network:
    """The same network with the only policy that the op has."""

    def changed(layer: Any) -> Any:
        return replace(layer, policy="index") if isinstance(layer, LIF) else layer

    layers = tuple(changed(layer) for layer in network.layers)
    return replace(network, layers=layers, readout=changed(network.readout))


def op_problems(dyadic: bool = False) -> st.SearchStrategy[Problem]:
    """Every variant of a network, small."""
    drawn = problems(dyadic=dyadic, variants=True, max_neurons=20, max_batch=8, max_steps=5)
    return drawn.map(lambda problem: replace(problem, network=by_index(problem.network)))


def compiled(
    problem: Problem,
    placement: Placement = Placement(),  # noqa: B008 (frozen)
    tiles: int = TILES,
    **more: Any,
) -> PoplarLIF:
    steps, batch, slots = problem.ids.shape
    return PoplarLIF(problem.network, steps, batch, slots, placement, tiles_per_ipu=tiles, **more)


def run_both(op: PoplarLIF, problem: Problem) -> Tuple[Run, Trace]:
    """The op's forward pass, and the reference's that replays its spikes."""
    p = problem
    run = op.forward(p.weights, p.ids, p.counts)
    replay = [
        (layer.spike_ids.astype(np.int32), layer.spike_counts.astype(np.int32))
        for layer in run.layers
    ]
    return run, reference.forward(p.network, p.weights, p.ids, p.counts, replay)


def assert_bit_equal(run: Run, trace: Trace) -> None:
    """Of problems whose float32 sums are exact; surrogates are rounded."""
    np.testing.assert_array_equal(run.membrane, trace.membrane)
    for ours, theirs in zip(run.layers, trace.layers):
        np.testing.assert_array_equal(ours.spike_counts, theirs.spike_counts)
        np.testing.assert_array_equal(ours.spike_ids, theirs.spike_ids)
        np.testing.assert_array_equal(ours.dropped, theirs.dropped)
        np.testing.assert_allclose(ours.surrogate, theirs.surrogate, rtol=1e-5, atol=1e-7)


def assert_gradients(
    op: PoplarLIF, problem: Problem, trace: Trace, by_inputs: bool = False
) -> None:
    """The op's gradients are the reference's, for the same spikes and a loss on every layer."""
    p = problem
    judged = reference.backward(
        p.network, p.weights, p.ids, p.counts, trace, p.grad_membrane, p.grad_spikes
    )
    expected: List[Optional[np.ndarray]] = list(judged.weights)
    if by_inputs:
        expected.insert(0, judged.inputs)
    for found, wanted in zip(op.backward(p.grad_membrane, p.grad_spikes), expected):
        assert wanted is not None
        scale = max(np.abs(wanted).max(initial=0), 1.0)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5 * scale)
