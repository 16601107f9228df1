"""Balanced weights: the membranes and rates they promise, the same bytes everywhere."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Dict, List, Tuple

import numpy as np
import pytest

from ipulse_ops.lif.network import LIF, LeakyReadout, Network
from ipulse_ops.lif.reference.network_pass import forward
from ipulse_ops.reference.spikes import dense_to_sparse
from ipulse_ops.training.initialisation import balanced_weights

SILENT = 1e9  # a threshold that no membrane reaches


def poisson(rate: float, steps: int = 50, batch: int = 32) -> Tuple[np.ndarray, np.ndarray]:
    """Every one of 64 channels spikes at any step with the same probability."""
    rng = np.random.Generator(np.random.PCG64(7))
    return dense_to_sparse(rng.random((steps, batch, 64)) < rate)


def deep(threshold: float = 1.0, decay: float = 0.95, gain: float = 10.0) -> Network:
    layers = tuple(LIF(128, decay=decay, threshold=threshold, gain=gain) for _ in range(3))
    return Network(inputs=64, layers=layers, readout=LeakyReadout(10, decay, gain))


def rates(network: Network, std: float, seed: int) -> List[float]:
    """The share of neurons that spike at a step, of each layer."""
    ids, counts = poisson(0.01)
    weights = balanced_weights(network, ids, counts, std, seed)
    return [float(layer.reset.mean()) for layer in forward(network, weights, ids, counts).layers]


# The weights are equal bytes with every NumPy, see TestWeights.
class TestActivity:
    # The rates, in per cent, that lower and higher stds gave when the rule was derived.
    @pytest.mark.parametrize(
        ("std", "low", "high"), [(0.5, 0.2, 0.6), (0.7, 0.7, 1.3), (1.0, 1.4, 2.6), (1.5, 2.7, 4.6)]
    )
    @pytest.mark.parametrize("seed", [0, 1])
    def test_rates_follow_std_and_do_not_fade_with_depth(
        self, std: float, low: float, high: float, seed: int
    ) -> None:
        for rate in rates(deep(), std, seed):
            assert low < 100 * rate < high

    @pytest.mark.parametrize("changed", [{"threshold": 0.1}, {"gain": 1.0}, {"decay": 0.8}])
    def test_rates_hold_for_other_constants(self, changed: Dict[str, float]) -> None:
        for rate in rates(deep(**changed), 1.0, 0):
            assert 1.0 < 100 * rate < 6.0

    @pytest.mark.parametrize("decay", [0.0, 0.5, 0.9])
    def test_membrane_that_never_resets_has_the_std(self, decay: float) -> None:
        """Per neuron, in units of its own threshold; known to about 3 % from 512 inputs."""
        rng = np.random.Generator(np.random.PCG64(8))
        ids, counts = dense_to_sparse(rng.random((60, 40, 512)) < 0.01)
        threshold = rng.uniform(0.5, 2, 300)
        gain = rng.uniform(1, 10, 300)
        first = LIF(300, decay=decay, threshold=threshold, gain=gain)
        network = Network(512, (first,), LeakyReadout(1))
        weights = balanced_weights(network, ids, counts, std=0.7)
        unreset = Network(512, (LIF(300, decay, SILENT, gain=gain),), LeakyReadout(1))
        u = forward(unreset, weights, ids, counts).layers[0].u[-20:]
        measured = np.sqrt(np.mean((u / threshold) ** 2))
        assert measured == pytest.approx(0.7, rel=0.1)
        for half in (threshold < 1, threshold > 1):
            assert np.sqrt(np.mean((u / threshold)[..., half] ** 2)) == pytest.approx(0.7, rel=0.12)

    @pytest.mark.parametrize(("decay", "synapse_decay"), [(0.5, 0.8), (0.9, 0.5), (0.0, 0.6)])
    def test_membrane_behind_a_synapse_has_the_std(
        self, decay: float, synapse_decay: float
    ) -> None:
        rng = np.random.Generator(np.random.PCG64(8))
        ids, counts = dense_to_sparse(rng.random((80, 40, 512)) < 0.01)
        layer = LIF(300, decay=decay, gain=3.0, synapse_decay=synapse_decay)
        network = Network(512, (layer,), LeakyReadout(1))
        weights = balanced_weights(network, ids, counts, std=0.7)
        unreset = Network(512, (replace(layer, threshold=SILENT),), LeakyReadout(1))
        u = forward(unreset, weights, ids, counts).layers[0].u[-30:]
        assert np.sqrt(np.mean(u**2)) == pytest.approx(0.7, rel=0.1)

    def test_rates_hold_with_recurrence_and_biases(self) -> None:
        layers = tuple(LIF(128, recurrent=True, bias=True) for _ in range(3))
        network = Network(64, layers, LIF(10, recurrent=True, bias=True))
        assert len(balanced_weights(network, *poisson(0.01))) == 12
        for rate in rates(network, 1.0, 0)[:3]:
            assert 1.0 < 100 * rate < 5.0

    def test_dropped_spikes_do_not_count_as_arriving(self) -> None:
        """One slot for many spikes: the next layer's weights must make up for it."""
        ids, counts = poisson(0.05)
        open_layer = LIF(128)
        tight = LIF(128, capacity=1)
        scales = []
        for layer in (open_layer, tight):
            network = Network(64, (layer,), LeakyReadout(10))
            scales.append(np.abs(balanced_weights(network, ids, counts)[1]).max())
        assert scales[1] > 1.5 * scales[0]


class TestWeights:
    def test_are_float32_of_the_networks_shapes(self) -> None:
        weights = balanced_weights(deep(), *poisson(0.02))
        assert [w.shape for w in weights] == [(64, 128), (128, 128), (128, 128), (128, 10)]
        assert {w.dtype for w in weights} == {np.dtype(np.float32)}

    def test_are_uniform_around_zero(self) -> None:
        first = balanced_weights(deep(), *poisson(0.02))[0].ravel()
        limit = np.abs(first).max()
        assert abs(first.mean()) < 0.03 * limit
        assert first.std() == pytest.approx(limit / np.sqrt(3), rel=0.02)

    def test_depend_on_the_seed_and_nothing_else(self) -> None:
        sample = poisson(0.02)
        first, again = (balanced_weights(deep(), *sample, seed=3) for _ in range(2))
        other = balanced_weights(deep(), *sample, seed=4)
        assert all(map(np.array_equal, first, again))
        assert not any(map(np.array_equal, first, other))

    @pytest.mark.old_python
    def test_are_the_same_bytes_on_every_numpy(self) -> None:
        """The digest is numpy 2.4's; draws and sums are the same on every version."""
        weights = balanced_weights(deep(), *poisson(0.02), std=0.7, seed=5)
        digest = hashlib.sha256(b"".join(w.astype("<f4").tobytes() for w in weights)).hexdigest()
        assert digest == "d5b8f609f6c5809e26df6c1d6c17b4a0742b970dcc49fb956865e795477b24ca"


class TestRefusals:
    def test_silent_input(self) -> None:
        ids, counts = poisson(0.02)
        with pytest.raises(ValueError, match=r"input sample has no spikes .* pass samples with"):
            balanced_weights(deep(), ids, np.zeros_like(counts))

    def test_layer_without_spikes(self) -> None:
        with pytest.raises(ValueError, match=r"layer 1 does not spike .* raise std"):
            balanced_weights(deep(), *poisson(0.02), std=0.01)

    @pytest.mark.parametrize("std", [0.0, -1.0, np.nan, np.inf])
    def test_impossible_std(self, std: float) -> None:
        with pytest.raises(ValueError, match="std must be greater than 0"):
            balanced_weights(deep(), *poisson(0.02), std=std)

    def test_constants_without_balance(self) -> None:
        with pytest.raises(ValueError, match="layer 1 needs thresholds above 0"):
            balanced_weights(deep(threshold=0.0), *poisson(0.02))
        with pytest.raises(ValueError, match="layer 1 needs gains other than 0"):
            balanced_weights(deep(gain=0.0), *poisson(0.02))

    def test_sample_of_another_network(self) -> None:
        ids, counts = poisson(0.02)
        with pytest.raises(ValueError, match=r"it must be 0 to 63"):
            balanced_weights(deep(), ids + 64, counts)
