"""Initial kernels: the spread of the membranes, the spikes that leave, and what is refused."""

from __future__ import annotations

from typing import Any, Tuple

import numpy as np
import pytest

from ipulse_core.spec.conv_geometry import Planes, conv_geometry
from ipulse_ops.conv import reference
from ipulse_ops.conv.initialisation import balanced_kernels
from ipulse_ops.lif.conv_layer import ConvLIF

PLANES = Planes(8, 8, 2)


def layer_of(entering: Planes = PLANES, **fields: Any) -> ConvLIF:
    geometry = conv_geometry(entering, filters=24, kernel=(3, 3), pool=(2, 2))
    return ConvLIF(geometry, **fields)


def random_spikes(steps: int = 80, batch: int = 8) -> Tuple[np.ndarray, np.ndarray]:
    """Each site spikes with a probability of a tenth."""
    rng = np.random.RandomState(3)
    dense = rng.random_sample((steps, batch, PLANES.sites)) < 0.1
    counts = dense.sum(axis=2)
    return np.argsort(~dense, axis=2, kind="stable")[..., : counts.max()], counts


@pytest.mark.parametrize("std", [0.5, 2.0])
@pytest.mark.parametrize("decay", [0.0, 0.9, 1.0])
def test_membranes_have_the_spread(decay: float, std: float) -> None:
    ids, counts = random_spikes()
    layer = layer_of(decay=decay, threshold=1.5, gain=3.0, input_scale=0.25, reset="none")
    (kernel,), _ = balanced_kernels([layer], ids, counts, std=std)
    u = reference.forward(layer, kernel, None, reference.planes_of(PLANES, ids, counts)).u
    # Between samples: the mean of a current makes all of them drift.
    spread = float(np.sqrt(u.var(axis=1, ddof=1).mean()))
    assert 0.85 * std < spread / layer.threshold < 1.15 * std


def test_the_spikes_that_leave_are_those_of_the_last_pool() -> None:
    ids, counts = random_spikes(steps=20)
    first = layer_of(bias=True)
    second = ConvLIF(conv_geometry(first.geometry.pooled, filters=5, kernel=(2, 2)))
    (one, bias, two), sent = balanced_kernels([first, second], ids, counts, seed=4)
    assert not bias.any()
    entering = reference.planes_of(PLANES, ids, counts)
    run = reference.forward(first, one, bias, entering)
    run = reference.forward(second, two, None, run.pooled)
    assert run.pooled.any()
    np.testing.assert_array_equal(reference.planes_of(second.geometry.pooled, *sent), run.pooled)


def test_silence_and_a_gain_of_zero_are_refused() -> None:
    ids, counts = random_spikes(steps=5)
    layers = [layer_of(), ConvLIF(conv_geometry(layer_of().geometry.pooled, 5, (2, 2)))]
    with pytest.raises(ValueError, match="input sample has no spikes"):
        balanced_kernels(layers, ids, np.zeros_like(counts))
    with pytest.raises(ValueError, match="layer 1 does not spike"):
        balanced_kernels(layers, ids, counts, std=1e-6)
    with pytest.raises(ValueError, match="layer 1 needs a gain"):
        balanced_kernels([layer_of(gain=0.0)], ids, counts)
