"""The prediction of a tile's memory for networks of several programs, and what is compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from ipulse.spec import parse_spec
from ipulse.spec.tile_fit import FACTOR, DoesNotFit, check_fit, tile_fit
from ipulse_worker.runner.model.keras_network import keras_network
from ipulse_worker.runner.model.network import initial_limits
from poplar_emulator.user_op import emulated_ipus
from tests.equations import lif, neuron_document
from tests.worker.runner.specs import spec_from

ADAPTIVE = neuron_document(
    [
        {"name": "u", "update": "0.9 * u + I", "reset": "where(r, 0, u)"},
        {"name": "a", "reset": "0.9 * a + r"},
    ],
    "u - (theta + 0.1 * a)",
    [{"name": "theta", "value": 1.0, "trainable": True}],
    name="adaptive",
)
CONV: dict[str, Any] = {"kind": "conv2d", "filters": 6, "kernel_size": 3, "neuron": ADAPTIVE}
POOLED = {**CONV, "padding": "same", "pool": {"kind": "sum", "pool_size": 3}}
LIF_CONV = {**POOLED, "neuron": None, "pool": {"kind": "average", "pool_size": 2}}
DENSE: dict[str, Any] = {"kind": "equations", "neurons": 90, "neuron": lif()}
WIDE = {"neurons": 64, "second_threshold": 0.4}
# layers, steps, batch, tiles
NETWORKS: dict[str, tuple[list[dict[str, Any]], int, int, int]] = {
    "dropout and additions": (
        [{**WIDE, "dropout": 0.3}, WIDE, {**WIDE, "residual": [1]}, {"neurons": 30}],
        24,
        8,
        32,
    ),
    "delays of synapses": ([WIDE, {"neurons": 40, "delays": {"longest": 9}}], 20, 8, 64),
    "a convolution's lists": ([{**POOLED, "filters": 24}, {"neurons": 16}], 30, 4, 32),
    "a convolution's states": ([{**CONV, "filters": 20}, DENSE], 12, 8, 8),
    "few tiles": ([DENSE, {"neurons": 40}, DENSE], 20, 16, 4),
    "own spikes": ([{**DENSE, "recurrent": True}], 16, 6, 16),
    "a readout": ([POOLED], 10, 8, 64),
    "LIF neurons": ([LIF_CONV, {**LIF_CONV, "pool": None}, {"neurons": 20}], 20, 8, 64),
    "LIF neurons before the readout": ([{**LIF_CONV, "filters": 20}], 30, 16, 200),
    "LIF neurons before dropout and additions": (
        [LIF_CONV, {**WIDE, "dropout": 0.3}, WIDE, {**WIDE, "residual": [2]}],
        24,
        8,
        32,
    ),
    "LIF neurons before delays": (
        [{**LIF_CONV, "delay": 2}, {"neurons": 40, "delays": {"longest": 4}}, {**WIDE, "delay": 3}],
        24,
        8,
        32,
    ),
    "LIF neurons before equations": ([LIF_CONV, CONV, DENSE], 12, 4, 16),
}


def document(layers: list[dict[str, Any]], steps: int, batch: int, tiles: int) -> dict[str, Any]:
    return {
        "version": 1,
        "data": {"kind": "digits", "samples": 64, "steps": steps},
        "network": {"layers": layers},
        "training": {"epochs": 1, "batch_size": batch},
        "device": {"kind": "emulator", "tiles": tiles},
    }


def compiled_bytes(spec: Any) -> int:
    """Returns the bytes of the fullest tile of any program of a training step."""
    net = keras_network(spec, initial_limits(spec), 1)
    shape = (spec.data.steps, spec.training.batch_size)
    ids, counts = np.zeros((*shape, 64), np.int32), np.zeros(shape, np.int32)
    ipus = emulated_ipus(1, spec.device.tiles)
    ipus.close()

    @tf.function
    def step() -> Any:
        with tf.GradientTape() as tape:
            run = net.run if hasattr(net, "run") else net
            loss = tf.reduce_sum(run(ids, counts, training=True).membrane)
        return tape.gradient(loss, net.trainable_variables)

    step()
    profiles = [
        *ipus.profiles(),
        *(part.tile_profile() for part in getattr(net, "parts", ()) if tiled(part)),
    ]
    ipus.close()
    return max(
        tile["memory"]["total"]["includingGaps"]
        for profile in profiles
        for tile in profile["compilation"]["tiles"]
    )


def tiled(part: Any) -> bool:
    return hasattr(part, "tile_profile")


@pytest.mark.verify
@pytest.mark.parametrize("name", NETWORKS)
def test_the_prediction_is_within_its_factor(name: str) -> None:
    described = document(*NETWORKS[name])
    predicted = tile_fit(parse_spec(described))
    assert predicted is not None
    found = compiled_bytes(spec_from(described))
    assert found / FACTOR < predicted.fullest_tile_bytes < found * FACTOR
    assert predicted.least_bytes < found


def test_only_what_certainly_does_not_fit_is_refused() -> None:
    wide = {**POOLED, "filters": 128}
    fits, lists, states = (
        parse_spec(document(layers, 30, batch, 64))
        for layers, batch in (([POOLED], 4), ([wide, {"neurons": 10}], 4), ([wide, DENSE], 64))
    )
    verdicts = [fit.verdict for fit in map(tile_fit, (fits, lists, states)) if fit is not None]
    assert verdicts == ["fits", "may_not_fit", "cannot_fit"]
    check_fit(lists)
    with pytest.raises(DoesNotFit) as caught:
        check_fit(states)
    assert "batch_size" in caught.value.message
    assert "IPUs" not in caught.value.message  # the network is on one
