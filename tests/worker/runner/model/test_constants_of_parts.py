"""Trained constants of LIF layers in networks whose layers run as parts of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, List

import numpy as np
import pytest

from ipulse_ops.keras.trained_network import trained_network
from ipulse_worker.runner.model.batches import StepResult
from ipulse_worker.runner.model.model import Model
from ipulse_worker.runner.model.weight_names import is_frozen, trained_names
from tests.equations import lif
from tests.worker.runner.attempts import attempt
from tests.worker.runner.model.test_equations import spec, weights
from tests.worker.runner.resolver import resolve
from tests.worker.runner.specs import spec_from

pytestmark = pytest.mark.usefixtures("threads_are_set")

STEPS, CHANNELS = 14, 64
CONSTANTS = ["threshold", "decay", "synapse_decay"]
BEHIND: List[Dict[str, Any]] = [
    {"neurons": 9, "synapse_decay": 0.5, "second_threshold": 0.2, "standardised": True},
    {"neurons": 8, "decay": 0.8},
]


def document_of(first: Dict[str, Any], **changes: Any) -> Dict[str, Any]:
    data = {"kind": "digits", "samples": 64, "steps": STEPS}
    network = {"trainable": CONSTANTS, "readout": {"decay": 0.7}}
    return spec([first, *BEHIND], epochs=1, data=data, network=network, **changes)


def step(document: Dict[str, Any], arrays: Dict[str, np.ndarray]) -> Dict[str, np.ndarray]:
    """The gradients of a training step that begins with these arrays, by name."""
    given = spec_from(document)
    rng = np.random.default_rng(4)
    ids = rng.integers(0, CHANNELS, (STEPS, 5, 9)).astype(np.uint16)
    model = Model(given, ids.shape[-1], 1)
    model.assign(arrays)
    counts, labels = np.full((STEPS, 5), 9, np.int32), np.arange(5, dtype=np.int32)
    result: StepResult = model.compute_gradients(ids, counts, labels, 1)
    names = [name for name in trained_names(given) if not is_frozen(given, name)]
    return {name: grad.numpy() for name, grad in zip(names, result.gradients)}


def test_their_gradients_are_those_of_a_network_of_lif_layers() -> None:
    """The first layer is frozen: a LIF layer, and the same neurons as equations."""
    rng = np.random.default_rng(5)
    shapes = {"layer_1": (64, 12), "layer_2": (12, 9), "layer_3": (9, 8), "readout": (8, 10)}
    arrays = {name: rng.normal(0, 0.5, shape).astype(np.float32) for name, shape in shapes.items()}
    own = {"kind": "equations", "neuron": lif(gain=1.0)}
    known = step(document_of({"neurons": 12, "decay": 0.9, "trainable": False}), arrays)
    found = step(document_of({**own, "neurons": 12, "trainable": False}), arrays)
    trained = [name for name in known if name.endswith(tuple(CONSTANTS))]
    assert len(trained) == 6
    assert sorted(found) == sorted(known)
    for name in known:
        assert np.any(known[name]), name
        np.testing.assert_array_equal(found[name], known[name], err_msg=name)


def test_a_job_trains_them_and_its_network_is_a_keras_layer(tmp_path: Path) -> None:
    first = {"kind": "equations", "neurons": 12, "neuron": lif()}
    document = document_of(first)
    arrays = weights(attempt(tmp_path / "job", document))
    for name, start in (("layer_2_synapse_decay", 0.5), ("layer_3_decay", 0.8)):
        assert np.any(arrays[name] != np.float32(start)), name
    assert arrays["readout_decay"].shape == (10,)
    made = trained_network(resolve("ExperimentSpec", document), arrays, threads=1)
    model = Model(spec_from(document), 9, 1)
    model.assign(arrays)
    ids = np.random.default_rng(4).integers(0, CHANNELS, (STEPS, 3, 9)).astype(np.uint16)
    counts = np.full((STEPS, 3), 9, np.int32)
    membrane = model.forward(ids, counts).membrane
    assert np.any(membrane)
    np.testing.assert_array_equal(made(ids, counts, training=False).membrane, membrane)
