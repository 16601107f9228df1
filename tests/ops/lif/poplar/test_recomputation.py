"""Steps that the backward pass runs again from checkpoints, against steps that are stored."""

from __future__ import annotations

from dataclasses import replace
from typing import List, Optional, Tuple

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ipulse_ops.lif.network import LIF, LeakyReadout, Network
from ipulse_ops.lif.placement import Placement
from ipulse_ops.lif.poplar.arrays import PoplarRun
from ipulse_ops.lif.poplar.attributes import Wanted, attributes_of
from ipulse_ops.lif.poplar.outputs import output_names, output_specs, steps_between_checkpoints
from ipulse_ops.lif.reference.trace import Gradients
from tests.ops.lif.poplar.variants import compiled, op_problems, split_over
from tests.ops.strategies import Problem, random_problem

ALL = Wanted(membranes=True, input_gradients=True, constant_gradients=True)


def trained(
    problem: Problem, wanted: Wanted, placement: Optional[Placement] = None
) -> Tuple[PoplarRun, Gradients, int]:
    """Return the results, the gradients and the fullest tile's bytes."""
    p = problem
    with compiled(problem, placement or Placement(), wanted=wanted) as op:
        run = op.forward(p.weights, p.ids, p.counts, p.seed)
        gradients = op.backward(
            p.grad_membrane, p.grad_spikes, p.grad_u if wanted.membranes else None
        )
        tiles = op.op.profile()["compilation"]["tiles"]
        return run, gradients, max(tile["memory"]["total"]["excludingGaps"] for tile in tiles)


def arrays_of(run: PoplarRun, gradients: Gradients) -> List[np.ndarray]:
    """Return all that both ways of running must agree on."""
    found = [run.membrane, run.ignored, *gradients.weights, gradients.inputs]
    for layer in run.layers:
        found += [layer.spike_ids, layer.spike_counts, layer.dropped]
        found += [] if layer.membrane is None else [layer.membrane]
    for constants in gradients.constants:
        found += [array for array in vars(constants).values() if array is not None]
    return found


@settings(max_examples=30)
@given(
    problem=op_problems(adapts=False),
    recompute=st.integers(0, 4),
    wanted=st.sampled_from([Wanted(), ALL]),
    ipus=st.sampled_from([1, 2]),
)
def test_the_library_names_the_outputs_in_order(
    problem: Problem, recompute: int, wanted: Wanted, ipus: int
) -> None:
    steps, batch, slots = problem.ids.shape
    placement = split_over(problem, ipus)
    asked = replace(wanted, recompute=recompute)
    names = output_names(attributes_of(problem.network, slots, placement, asked))
    specs = output_specs(problem.network, steps, batch, asked, placement)
    assert names == [(name, layer) for name, layer, _ in specs]


@settings(max_examples=30)
@given(
    problem=op_problems(adapts=False),
    recompute=st.integers(1, 6),
    ipus=st.sampled_from([1, 2, 4]),
    wanted=st.sampled_from([Wanted(), ALL]),
    states=st.sampled_from(["float", "half", "half_stochastic"]),
)
def test_any_network_has_the_same_bits(
    problem: Problem, recompute: int, ipus: int, wanted: Wanted, states: str
) -> None:
    wanted = replace(wanted, states=states)
    placement = split_over(problem, ipus)
    stored = trained(problem, wanted, placement)
    again = trained(problem, replace(wanted, recompute=recompute), placement)
    for ours, theirs in zip(arrays_of(*again[:2]), arrays_of(*stored[:2])):
        assert ours.tobytes() == theirs.tobytes()


def test_a_long_sequence_needs_less_memory() -> None:
    layer = LIF(neurons=24, decay=0.9, gain=2.0, threshold=0.5)
    network = Network(inputs=11, layers=(layer,), readout=LeakyReadout(neurons=3, decay=0.9))
    problem = random_problem(network, seed=3, steps=96, batch=4)
    between = steps_between_checkpoints(network, 96, 4)
    assert 1 < between < 48
    *_, stored = trained(problem, Wanted())
    *_, recomputed = trained(problem, Wanted(recompute=between))
    assert recomputed < 0.8 * stored


def test_states_of_half_make_checkpoints_smaller() -> None:
    network = Network(inputs=4, layers=(LIF(neurons=300),), readout=LeakyReadout(neurons=3))
    problem = random_problem(network, seed=3, steps=32, batch=4)
    fullest = [
        trained(problem, Wanted(recompute=1, states=states))[2] for states in ("float", "half")
    ]
    at_least = 31 * 4 * 20  # checkpoints, samples and neurons of a tile
    assert fullest[0] - fullest[1] > 2 * at_least
