"""Dropout, residual additions, delays and truncated gradients on tiles, as the reference."""

from __future__ import annotations

from typing import Any, Dict, List, Tuple

import numpy as np
import pytest

from ipulse_ops.keras import MultiLIF
from ipulse_ops.lif.network import LIF, Network
from ipulse_ops.lif.placement import Placement
from ipulse_ops.lif.run_options import RunOptions
from ipulse_ops.lif.tensorflow_op import run_network
from ipulse_ops.lif.unsupported import UnsupportedNetwork
from tests.ops.lif import test_connection_delays
from tests.ops.lif.test_single_layers import arrays, dropping
from tests.ops.lif.variants import delayed_network, residual_network, varied, with_gradient_only
from tests.ops.strategies import Problem, random_problem

FIELDS: Dict[str, Dict[str, Any]] = {
    "plain": {},
    "everything": {"recurrent": True, "bias": True, "synapse": True},
    "capacity": {"capacity": 4, "policy": "top"},
}
OPTIONS = {"backend": "emulator", "tiles_per_ipu": 8, "return_membranes": True}


def assert_as_reference(problem: Problem, run: Any = arrays) -> List[np.ndarray]:
    """Compare outputs and gradients with float64; return them."""
    tiles = run(problem, **OPTIONS)
    reference = run(problem, return_membranes=True, backend="numpy")
    assert len(tiles) == len(reference)
    for found, expected in zip(tiles, reference):
        size = max(np.abs(expected).max(initial=0), 1e-6)
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=2e-5 * size)
    return tiles


def problem_for(network: Network) -> Problem:
    return with_gradient_only(random_problem(network, seed=3, steps=9, batch=6))


@pytest.mark.parametrize("delay", [0, 1])
@pytest.mark.parametrize("readout", [False, True])
@pytest.mark.parametrize("fields", FIELDS)
def test_dropout(fields: str, readout: bool, delay: int) -> None:
    made = varied(2, True, readout, FIELDS[fields], reset_gradient="none", delay=delay)
    assert_as_reference(problem_for(dropping(made)))


@pytest.mark.parametrize("rates", [(0, 0, 0, 0), (0.2, 0, 0.5, 0.3)], ids=["whole", "dropout"])
@pytest.mark.parametrize("readout", [False, True])
def test_residual_additions(readout: bool, rates: Tuple[float, ...]) -> None:
    assert_as_reference(problem_for(residual_network(readout, rates, delay=1)))


@pytest.mark.parametrize("delay", [3, 12, (0, 2, 1)])
def test_delays_of_many_steps(delay: Any) -> None:
    """One of them is longer than the sample: nothing arrives then."""
    problem = problem_for(varied(2, True, False, {"recurrent": True}, delay=delay))
    tiles = assert_as_reference(problem)
    assert np.any(tiles[0]) == (delay != 12)


@pytest.mark.parametrize("per", ["neuron", "synapse"])
def test_delays_of_connections(per: str) -> None:
    problem = problem_for(delayed_network(per, True, 0.25))
    assert_as_reference(problem, test_connection_delays.arrays)


@pytest.mark.parametrize("truncate", [1, 4, 20])
def test_truncated_gradients(truncate: int) -> None:
    """Also of layers that run alone, as of the first network."""
    fields = {"recurrent": True, "synapse": True, "adapts": True}
    made = varied(2, True, True, fields, reset="subtract", truncate=truncate)
    for network in (residual_network(False, truncate=truncate), made):
        assert_as_reference(problem_for(network))


def test_memory_that_recomputes() -> None:
    problem = problem_for(residual_network(False, (0.2, 0, 0.5, 0.3)))
    for one, other in zip(
        arrays(problem, **OPTIONS), arrays(problem, memory="recompute", **OPTIONS)
    ):
        np.testing.assert_array_equal(one, other)


def test_a_layer_in_keras_tells_which_layer_is_traced() -> None:
    problem = problem_for(residual_network(True))
    network = problem.network
    net = MultiLIF(
        network.inputs, network.layers, network.readout, backend="emulator", tiles_per_ipu=8
    )
    traced: List[int] = []
    net.on_layer = traced.append
    net.run(problem.ids, problem.counts)
    assert traced == [0, 1, 2, 3]


def test_several_ipus_are_refused() -> None:
    network = Network(inputs=2, layers=(), readout=LIF(neurons=2, dropout=0.5))
    ids, counts = np.zeros((2, 1, 1), np.int32), np.zeros((2, 1), np.int32)
    with pytest.raises(UnsupportedNetwork, match="on one IPU; got 2"):
        run_network(
            *(network, [np.ones((2, 2), np.float32)], ids, counts),
            RunOptions(backend="emulator", placement=Placement(ipus=2), tiles_per_ipu=8),
        )
