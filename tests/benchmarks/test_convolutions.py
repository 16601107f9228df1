"""The benchmarks of convolutions scale weights, compute a loss, and compare equal convolutions."""

import numpy as np
import pytest

from benchmarks.training.layers.conv_network import (
    RATE,
    ConvConfig,
    network_of,
    programs,
    scale_to_rate,
)
from benchmarks.training.layers.spike_conv import passes
from ipulse_core.spec.conv_geometry import Planes

SMALL = ConvConfig(Planes(10, 10, 2), ({"filters": 4, "kernel": (3, 3)},), None, 3, 20, 4, 0.05)


@pytest.mark.verify
def test_the_layers_fire_at_the_rate() -> None:
    rng = np.random.RandomState(0)
    ids = np.sort(rng.randint(0, 200, (20, 4, 10)))
    counts = np.full((20, 4), 10)
    network = network_of(SMALL, None, 1)
    scale_to_rate(network, ids, counts, RATE)
    run = network.convolutions[0].run(ids, counts, training=False)
    rate = float(np.mean(run.activity[..., 0])) / network.convolutions[0].geometry.neurons
    assert rate == pytest.approx(RATE, rel=0.2)


def test_a_step_computes_a_loss() -> None:
    found = programs(SMALL, 0.5, 1)
    assert np.asarray(found["forward"]()).shape == (4, 3)
    assert np.isfinite(found["step"]())


def test_a_convolution_of_spikes_computes_what_the_dense_one_does() -> None:
    """It raises an error otherwise; both have a forward pass and a step."""
    found = passes(2, 2, 0.1)
    assert {name: set(calls) for name, calls in found.items()} == {
        "forward": {"sparse", "dense"},
        "step": {"sparse", "dense"},
    }
