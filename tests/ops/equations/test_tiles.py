"""Equations on the tiles of an emulated IPU, compared with the kernel of the CPU."""

from __future__ import annotations

from random import Random
from typing import Optional

import numpy as np
import pytest

from ipulse_core.equations.neuron import NeuronEquations
from ipulse_ops.equations.kernel import EquationsKernel, stacked
from ipulse_ops.equations.layer_equations import LayerEquations
from ipulse_ops.equations.poplar_kernel import EquationsOnTiles
from poplar_emulator.custom_op import CustomOpError
from poplar_emulator.user_op import emulated_ipus
from tests.equations import lif, neuron_of, random_neuron


def check(
    neuron: NeuronEquations,
    tiles: int,
    tolerance: float,
    truncate: int = 0,
    is_recurrent: bool = False,
    gate: Optional[float] = None,
) -> bool:
    """Compares values and gradients; `tolerance` is for the last bits of exp and tanh.

    Returns whether neurons spiked.
    """
    layer = LayerEquations(neuron, 3, truncate=truncate or None, recurrent=is_recurrent, gate=gate)
    rng = np.random.default_rng(tiles)
    current = rng.normal(0.5, 1.5, (7, 2, 3)).astype(np.float32)
    by_spikes = rng.normal(size=current.shape).astype(np.float32)
    parameters = stacked(layer, layer.values())
    cpu, on_tiles = EquationsKernel(layer), EquationsOnTiles(layer, tiles)
    assert on_tiles.profile() is None  # nothing has run
    # Multiples of 0.5, so that sums are exact in any order.
    own = [np.float32([[0, 0.5, -1], [1, 0, 0], [0.5, 0, 2]])] if is_recurrent else []
    wanted = cpu.forward(parameters, current, True, *own)
    found = on_tiles.forward(parameters, current, True, *own)
    np.testing.assert_allclose(found.x, wanted.x, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(found.states, wanted.states, rtol=tolerance, atol=tolerance)
    one = cpu.backward(parameters, wanted.current, wanted.states, by_spikes, *own)
    two = on_tiles.backward(parameters, found.current, found.states, by_spikes, *own)
    np.testing.assert_allclose(two[0], one[0], rtol=tolerance, atol=tolerance)
    # Sums over steps are float32 on tiles.
    np.testing.assert_allclose(two[1], one[1], rtol=1e-4, atol=1e-5)
    assert found.first_bad_step == two[2] == -1
    profile = on_tiles.profile()
    assert profile is not None
    assert profile["execution"]["totalCycles"]["total"] > 0
    return bool((wanted.x > 0).any())


def test_known_neurons_to_the_bit() -> None:
    assert check(neuron_of(lif("subtract", decay=True)), tiles=4, tolerance=0.0, truncate=3)


@pytest.mark.verify
def test_neurons_that_send_to_each_other() -> None:
    neuron = neuron_of(lif("subtract", gain=1.0, decay=True))
    assert check(neuron, tiles=4, tolerance=1e-6, truncate=3, is_recurrent=True)
    assert check(neuron, tiles=1, tolerance=1e-6, is_recurrent=True)


@pytest.mark.verify
def test_random_neurons() -> None:
    spiked = [check(random_neuron(Random(seed)), tiles=3, tolerance=1e-5) for seed in range(4)]
    assert any(spiked)
    assert check(neuron_of(lif()), tiles=1, tolerance=0.0)


@pytest.mark.verify
def test_a_gate() -> None:
    neuron = neuron_of(lif("subtract", decay=True))
    assert check(neuron, tiles=4, tolerance=0.0, truncate=3, gate=-0.5)
    layer = LayerEquations(neuron, 3, gate=-0.5)
    rng = np.random.default_rng(5)
    current = rng.normal(0.5, 1.5, (7, 2, 3)).astype(np.float32)
    parameters = stacked(layer, layer.values())
    cpu, on_tiles = EquationsKernel(layer), EquationsOnTiles(layer, 4)
    wanted = cpu.spikes(parameters, current, True)
    found = on_tiles.spikes(parameters, current, True)
    np.testing.assert_array_equal(found.ids, wanted.ids)
    np.testing.assert_array_equal(found.counts, wanted.counts)
    assert (wanted.counts[..., 0] < wanted.counts[..., 1]).any()
    assert (wanted.counts[..., 1] < 3).any()
    by_slots = rng.normal(size=current.shape).astype(np.float32)
    one, two = (
        each.backward(
            parameters, current, wanted.states, by_slots, lists=(wanted.ids, wanted.counts)
        )
        for each in (cpu, on_tiles)
    )
    np.testing.assert_array_equal(two[0], one[0])


def test_the_program_has_the_engine_options_of_its_ipu() -> None:
    tiles = 3  # of no other test
    ipu = emulated_ipus(1, tiles)
    layer = LayerEquations(neuron_of(lif("subtract", decay=True)), 64)
    with pytest.raises(CustomOpError, match="Out of memory"):
        EquationsOnTiles(layer, tiles).compile(200, 32)
    ipu.options["debug.allowOutOfMemory"] = "true"
    try:
        on_tiles = EquationsOnTiles(layer, tiles)
        on_tiles.compile(200, 32)
    finally:
        ipu.options.clear()
    ipu.options["no.such.option"] = "1"
    try:
        with pytest.raises(CustomOpError, match=r"no\.such\.option"):
            EquationsOnTiles(layer, tiles).compile(2, 1)
    finally:
        ipu.options.clear()
