"""A training begins with the weights of a file or another job, and layers can be frozen."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any, Dict, List

import numpy as np
import pytest

from ipulse_core.spec.start_weights import start_shapes
from ipulse_worker.runner.model.weight_names import is_frozen, trained_names
from tests.worker.runner.attempts import FinishedAttempt, attempt
from tests.worker.runner.conftest import SPEC
from tests.worker.runner.report.page import Page
from tests.worker.runner.trainings import spec_of, training_of

pytestmark = pytest.mark.usefixtures("threads_are_set")

NETWORK: Dict[str, Any] = {"layers": [{"neurons": 8, "bias": True}, {"neurons": 6}]}
SHAPES = {"layer_1": (64, 8), "layer_1_bias": (8,), "layer_2": (8, 6), "readout": (6, 10)}


def document(layers: List[Dict[str, Any]], **network: Any) -> Dict[str, Any]:
    return {
        **SPEC,
        "network": {"layers": layers, **network},
        "training": {"epochs": 1, "batch_size": 32},
    }


def drawn(**changes: Any) -> Dict[str, np.ndarray]:
    random = np.random.RandomState(3)
    arrays = {n: random.randn(*shape).astype(np.float32) for n, shape in SHAPES.items()}
    return {**arrays, **changes}


class Start:
    """Attempts with a data directory that has pretrained.npz."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.data.mkdir()
        monkeypatch.setenv("IPULSE_DATA", str(self.data))

    def write(self, **arrays: np.ndarray) -> str:
        path = self.data / "pretrained.npz"
        np.savez(path, **arrays)
        return sha256(path.read_bytes()).hexdigest()

    def run(self, spec: Any, name: str = "work", **more: Any) -> FinishedAttempt:
        return attempt(self.folder / name, spec, **more)


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Start:
    return Start(tmp_path, monkeypatch)


def weights(result: FinishedAttempt) -> Dict[str, np.ndarray]:
    assert result.done["reason"] == "completed", result.done
    with np.load(result.directory / "weights.npz", allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}


def frozen(*flags: bool, **network: Any) -> Dict[str, Any]:
    first, second, readout = flags
    layers = [
        {**NETWORK["layers"][0], "trainable": first},
        {**NETWORK["layers"][1], "trainable": second},
    ]
    return document(layers, readout={"trainable": readout}, **network)


def test_frozen_layers_keep_the_weights_of_the_file_and_others_learn(start: Start) -> None:
    arrays = drawn()
    digest = start.write(**arrays)
    spec = frozen(False, False, True, initial={"file": "pretrained.npz", "sha256": digest})
    result = start.run(spec)
    learned = weights(result)
    for name in ("layer_1", "layer_1_bias", "layer_2"):
        np.testing.assert_array_equal(learned[name], arrays[name])
    assert (learned["readout"] != arrays["readout"]).any()
    manifest = json.loads((result.directory / "manifest.json").read_text("utf-8"))
    assert manifest["start"] == {
        "source": "file",
        "file": "pretrained.npz",
        "sha256": digest,
        "arrays": sorted(SHAPES),
        "initialised": [],
        "ignored": [],
    }
    assert any(digest in line for line in result.log)
    page = Page((result.directory / "report.html").read_text("utf-8"))
    assert digest in "".join(page.text["dd"])
    # A resumed attempt needs the file no more, and still says where the weights came from.
    (start.data / "pretrained.npz").unlink()
    resumed = start.run(spec, "resumed", checkpoint=str(result.directory / "checkpoint.npz"))
    np.testing.assert_array_equal(weights(resumed)["readout"], learned["readout"])
    assert (
        json.loads((resumed.directory / "manifest.json").read_text())["start"]
        == (manifest["start"])
    )


@pytest.mark.old_python
def test_weights_of_a_job_are_those_that_it_left(start: Start) -> None:
    parent = start.run(document(NETWORK["layers"]))
    path = parent.directory / "weights.npz"
    child = start.run(
        frozen(False, False, True), "child", start_from=str(path), start_mode="weights"
    )
    np.testing.assert_array_equal(weights(child)["layer_2"], weights(parent)["layer_2"])
    manifest = json.loads((child.directory / "manifest.json").read_text("utf-8"))
    assert manifest["start"]["source"] == "job"
    assert manifest["start"]["sha256"] == sha256(path.read_bytes()).hexdigest()


def test_uploaded_weights_are_those_that_the_agent_fetched(start: Start) -> None:
    arrays = drawn()
    digest = start.write(**arrays)
    spec = frozen(False, False, True, initial={"upload": digest})
    missing = start.run(spec, "missing")
    assert missing.done["reason"] == "data_unavailable"
    fetched = str(start.data / "pretrained.npz")
    result = start.run(spec, start_from=fetched, start_mode="weights")
    np.testing.assert_array_equal(weights(result)["layer_2"], arrays["layer_2"])
    manifest = json.loads((result.directory / "manifest.json").read_text("utf-8"))
    assert (manifest["start"]["source"], manifest["start"]["sha256"]) == ("upload", digest)


def test_a_frozen_layer_has_no_share_in_the_clipped_norm() -> None:
    """A network with a huge frozen layer learns as if the layer had no gradient."""
    spec = spec_of(
        network={"layers": [{"neurons": 8, "trainable": False}], "trainable": ["decay"]},
        training={"gradient_clipping": {"global_norm": 1e-3}, "batch_size": 32},
    )
    training = training_of(spec)
    before = training.model.arrays
    training.begin()
    training.model.execute(1, lambda: 0.0)
    changed = {
        name for name, value in training.model.arrays.items() if (value != before[name]).any()
    }
    assert changed == {"readout", "readout_decay"}
    assert [is_frozen(spec, name) for name in trained_names(spec)] == [True, False, True, False]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"layer_2": np.zeros((8, 7), np.float32)},
            "layer_2 is 8 x 7, and the network needs 8 x 6",
        ),
        ({"layer_3": np.zeros((8, 7), np.float32)}, "the network has no layer_3"),
        ({"layer_1_decay": np.zeros(8, np.float32)}, "list it in network.trained_constants"),
        ({"layer_1_parameter_tau": np.zeros(8, np.float32)}, "in its equations"),
        (
            {"layer_1": np.full((64, 8), np.nan, np.float32)},
            "layer_1 has values that are not finite",
        ),
        ({"layer_1": np.zeros((64, 8), np.int64)}, "layer_1 has int64"),
    ],
)
def test_weights_that_do_not_fit_are_listed(
    start: Start, changes: Dict[str, np.ndarray], message: str
) -> None:
    start.write(**drawn(**changes))
    result = start.run(document(NETWORK["layers"], initial={"file": "pretrained.npz"}))
    assert result.done["reason"] == "data_invalid"
    assert message in result.done["message"]


def test_missing_layers_are_drawn_on_request(start: Start) -> None:
    arrays = drawn()
    del arrays["readout"]
    start.write(**arrays, layer_9=np.zeros(3, np.float32))
    initial = {"file": "pretrained.npz", "missing": "draw"}
    result = start.run(frozen(False, False, True, initial=initial))
    np.testing.assert_array_equal(weights(result)["layer_2"], arrays["layer_2"])
    manifest = json.loads((result.directory / "manifest.json").read_text("utf-8"))
    assert manifest["start"]["initialised"] == ["readout"]
    warnings = [event["message"] for event in result.events if event.get("level") == "warning"]
    assert any("the network has no layer_9" in line for line in warnings)


@pytest.mark.parametrize(
    ("content", "initial", "reason", "message"),
    [
        (b"", {}, "data_invalid", "cannot be read as npz"),
        (b"\x89HDF\r\n\x1a\n" + bytes(99), {}, "data_invalid", "ipulse nir import"),
        (None, {}, "data_unavailable", "there is no file"),
        (b"PK", {"sha256": "0" * 64}, "data_invalid", "cannot be read as npz"),
    ],
)
def test_unusable_files_are_refused(
    start: Start, content: Any, initial: Dict[str, str], reason: str, message: str
) -> None:
    if content is not None:
        (start.data / "pretrained.npz").write_bytes(content)
    spec = document(NETWORK["layers"], initial={"file": "pretrained.npz", **initial})
    result = start.run(spec)
    assert result.done["reason"] == reason
    assert message in result.done["message"]


def test_another_digest_is_refused(start: Start) -> None:
    start.write(**drawn())
    initial = {"file": "pretrained.npz", "sha256": "0" * 64}
    result = start.run(document(NETWORK["layers"], initial=initial))
    assert result.done["reason"] == "data_invalid"
    assert "SHA-256" in result.done["message"]


def test_shapes_are_those_of_the_arrays() -> None:
    spec = spec_of(
        network={
            "layers": [{"neurons": 8, "recurrent": True, "bias": True, "synapse_decay": 0.5}],
            "trainable": ["synapse_decay", "threshold"],
            "readout": {"bias": True},
        }
    )
    arrays = training_of(spec).model.arrays
    assert start_shapes(spec) == {name: array.shape for name, array in arrays.items()}
