"""The weights that custom ops declare, in trainings."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.worker.runner.user_code.ops.packages import layer, packed, project
from tests.worker.runner.user_code.ops.test_training import trained, weights

pytestmark = [
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed"),
    pytest.mark.usefixtures("threads_are_set"),
]


def test_weights_of_an_op_are_frozen_where_spec_or_manifest_says_so(tmp_path: Path) -> None:
    package = packed(project(tmp_path / "op"))
    frozen = layer(package.reference, 6, width=4)
    network = {"layers": [{"neurons": 24}, {**frozen, "trainable": False}, {"neurons": 12}]}
    found = weights(trained(tmp_path / "a", package, network=network))
    np.testing.assert_array_equal(found["layer_2.gain"], 1)
    constant = {"name": "constant", "value": 0.75}
    gain = {"name": "gain", "shape": ["senders"], "initialiser": constant, "trainable": False}
    package = packed(project(tmp_path / "other", weights=[gain], gradients=["spikes", "gain"]))
    found = weights(trained(tmp_path / "b", package))
    np.testing.assert_array_equal(found["layer_2.gain"], 0.75)


def test_weights_of_an_op_keep_to_their_bounds(tmp_path: Path) -> None:
    uniform = {"name": "uniform", "low": 0.6, "high": 0.9}
    gain = {
        "name": "gain",
        "shape": ["senders"],
        "initialiser": uniform,
        "minimum": 0.7,
        "maximum": 0.8,
    }
    package = packed(project(tmp_path / "op", weights=[gain]))
    optimizer = {"kind": "adam", "learning_rate": 0.1}
    training = {"epochs": 1, "batch_size": 16, "optimizer": optimizer}
    found = weights(trained(tmp_path / "a", package, training=training))["layer_2.gain"]
    assert found.min() == np.float32(0.7)
    assert found.max() == np.float32(0.8)
