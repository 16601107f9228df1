"""Jobs with neurons of equations: they learn, resume to the bit, and name what is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Dict, List

import numpy as np
import pytest

from ipulse_ops.keras.trained_network import trained_network
from ipulse_worker.runner.attempts.spec_warnings import warnings_of
from ipulse_worker.runner.model.arrays_in_use import arrays_in_use
from ipulse_worker.runner.model.keras_network import keras_network
from ipulse_worker.runner.model.network import initial_limits
from ipulse_worker.runner.model.weight_names import weight_names
from tests.equations import neuron_document
from tests.worker.runner.attempts import FinishedAttempt, attempt
from tests.worker.runner.resolver import resolve
from tests.worker.runner.specs import spec_from

pytestmark = pytest.mark.usefixtures("threads_are_set")

RESONATOR = neuron_document(
    [
        {
            "name": "u",
            "update": "decay * (u - omega * w) + 2 * I",
            "reset": "where(r, 0, u)",
        },
        {"name": "w", "update": "decay * (w + omega * u)"},
    ],
    "u - theta",
    [
        {"name": "decay", "value": 0.9, "minimum": 0, "maximum": 0.99, "trainable": True},
        {"name": "omega", "value": 0.3},
        {"name": "theta", "value": 1.0, "minimum": 0.1, "per": "layer", "trainable": True},
    ],
    name="resonator",
)
LAYER = {"kind": "equations", "neurons": 32, "bias": True, "neuron": RESONATOR}
FAST = {"kind": "adam", "learning_rate": 0.01}


def spec(layers: List[Dict[str, Any]], epochs: int = 2, **changes: Any) -> Dict[str, Any]:
    network = {"layers": layers, **changes.pop("network", {})}
    return {
        "version": 1,
        "seed": 3,
        "data": {"kind": "digits", "samples": 160, "steps": 20},
        "network": network,
        "training": {"epochs": epochs, "batch_size": 32, "optimizer": FAST},
        **changes,
    }


def weights(ended: FinishedAttempt) -> Dict[str, np.ndarray]:
    assert ended.done["reason"] == "completed", ended.done
    with np.load(str(ended.directory / "weights.npz")) as arrays:
        return dict(arrays)


@pytest.mark.old_python
def test_a_network_learns_and_its_threads_change_nothing(tmp_path: Path) -> None:
    layers = [LAYER, {"neurons": 24, "standardised": True}]
    one = attempt(tmp_path / "one", spec(layers, epochs=2, device={"kind": "cpu", "threads": 1}))
    arrays = weights(one)
    assert sorted(arrays) == [
        "layer_1",
        "layer_1_bias",
        "layer_1_parameter_decay",
        "layer_1_parameter_theta",
        "layer_2",
        "readout",
    ]
    decays = arrays["layer_1_parameter_decay"]
    assert decays.shape == (32,)
    assert len(np.unique(decays)) > 1  # it was trained
    assert ((decays >= 0) & (decays <= 0.99)).all()
    assert arrays["layer_1_parameter_theta"].shape == (1,)
    profile = json.loads((one.directory / "profile.json").read_text(encoding="utf-8"))
    (run, *_) = profile["execution"]["runs"]
    times = run["layers"]["layers"]
    assert [each["layer"] for each in times] == [1, 2, "readout"]
    parts = {part["name"]: part["seconds"].get("mean") for part in run["steps"]["parts"]}
    for direction in ("forward", "backward"):
        assert min(each[direction] for each in times) > 0
        assert sum(each[direction] for each in times) == pytest.approx(parts[direction])
    page = (one.directory / "report.html").read_text(encoding="utf-8")
    assert "resonator" in page
    assert "decay * (u - omega * w) + 2 * I" in page
    two = attempt(tmp_path / "two", spec(layers, epochs=2, device={"kind": "cpu", "threads": 2}))
    for name, array in weights(two).items():
        np.testing.assert_array_equal(array, arrays[name])


def test_a_gate_leaves_gradients_out(tmp_path: Path) -> None:
    ended = attempt(tmp_path / "a", spec([{**LAYER, "gate": -0.5}], epochs=2))
    assert ended.done["reason"] == "completed", ended.done
    lines = (ended.directory / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    shares = [json.loads(line)["gradient_set/1"] for line in lines]
    assert shares
    assert all(0 < share < 0.999 for share in shares)
    page = (ended.directory / "report.html").read_text(encoding="utf-8")
    assert "gradient of the spike where u - theta &gt; -0.5" in page


def test_what_diverges_is_named(tmp_path: Path) -> None:
    document = neuron_document(
        [{"name": "u", "update": "0.9 * u + I", "reset": "exp(200 * r) * u / (2 - r * r)"}],
        "u - 1",
        name="explosive",
    )
    layer = {"kind": "equations", "neurons": 8, "neuron": document}
    ended = attempt(tmp_path / "a", spec([layer], epochs=1))
    message = ended.done["message"]
    assert ended.done["reason"] == "diverged", message
    assert "layer 1" in message
    assert "explosive" in message
    assert "time step" in message


def test_a_layer_that_never_spikes_is_named(tmp_path: Path) -> None:
    document = neuron_document([{"name": "u", "update": "0.9 * u + I"}], "min(u, 0)")
    layer = {"kind": "equations", "neurons": 8, "neuron": document}
    ended = attempt(tmp_path / "a", spec([{"neurons": 8}, layer], epochs=1))
    assert ended.done["reason"] == "runner_error"
    assert "layer 2 does not spike" in ended.done["message"]


def test_a_division_by_what_may_be_0_is_warned_of() -> None:
    risky = neuron_document([{"name": "u", "update": "0.9 * u + I / abs(u)"}], "u - 1")
    sound = neuron_document([{"name": "u", "update": "0.9 * u + I / (1 + abs(u))"}], "u - 1")
    for document, count in ((risky, 1), (sound, 0)):
        layer = {"kind": "equations", "neurons": 8, "neuron": document}
        found = list(warnings_of(spec_from(spec([layer]))))
        assert len(found) == count
        assert all("layers[0] divides in the update of u" in warning for warning in found)


@pytest.mark.parametrize("scope", ["layer_1_parameter_", "layer_1."])
def test_arrays_of_a_users_own_may_have_any_ending(scope: str) -> None:
    names = ("gain", "gain_weight_std", "gain_integers", "gain_scale", "gain_decay")
    arrays = {scope + name: np.float32([[1, 2], [3, 5]]) + at for at, name in enumerate(names)}
    found = arrays_in_use(spec_from(spec([LAYER])), arrays)
    assert sorted(found) == sorted(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)


@pytest.mark.sample(0)
@pytest.mark.parametrize("recurrent", [False, True])
def test_a_job_that_continues_is_one_longer_job(tmp_path: Path, recurrent: bool) -> None:
    layers = [{**LAYER, "recurrent": recurrent}]
    whole = weights(attempt(tmp_path / "whole", spec(layers, epochs=2)))
    first = attempt(tmp_path / "first", spec(layers, epochs=1))
    second = attempt(
        tmp_path / "second",
        spec(layers, epochs=2),
        start_from=str(first.directory / "checkpoint.npz"),
        start_mode="continue",
    )
    for name, array in weights(second).items():
        assert array.tobytes() == whole[name].tobytes(), name
    assert ("layer_1_recurrent" in whole) == recurrent


@pytest.mark.old_python
@pytest.mark.parametrize("delay", [0, 1])
@pytest.mark.sample(1)
def test_the_network_of_a_job_is_a_keras_layer(tmp_path: Path, delay: int) -> None:
    layers = [
        {"neurons": 20},
        {**LAYER, "recurrent": True},
        {"neurons": 12},
        {"neurons": 10},
        {**LAYER, "gate": -0.5},
    ]
    document = spec(layers, epochs=1, network={"delay": delay})
    ended = attempt(tmp_path / "a", document)
    given = spec_from(document)
    built = keras_network(given, initial_limits(given), 1)
    arrays = weights(ended)
    built.set_kernels([arrays[name] for name in weight_names(given)])
    for part, name in ((built.parts[1], "layer_2"), (built.parts[3], "layer_5")):
        found = {each: arrays[f"{name}_parameter_{each}"] for each in ("decay", "theta")}
        part.set_parameters(found)
    made = trained_network(resolve("ExperimentSpec", document), arrays, threads=1)
    rng = np.random.default_rng(4)
    ids = rng.integers(0, 64, (20, 3, 9)).astype(np.int32)
    counts = np.full((20, 3), 9, np.int32)
    one, two = built(ids, counts), made(ids, counts)
    assert float(np.sum(two.spike_counts[1][..., 0])) > 0
    np.testing.assert_array_equal(one.membrane, two.membrane)
    for left, right in zip(one.spike_ids, two.spike_ids):
        np.testing.assert_array_equal(left, right)


def test_a_job_may_start_from_trained_parameters(tmp_path: Path) -> None:
    first = attempt(tmp_path / "first", spec([LAYER], epochs=1))
    frozen = {**LAYER, "trainable": False}
    second = attempt(
        tmp_path / "second",
        spec([frozen], epochs=1),
        start_from=str(first.directory / "weights.npz"),
        start_mode="weights",
    )
    trained, kept = weights(first), weights(second)
    for name in ("layer_1", "layer_1_bias", "layer_1_parameter_decay", "layer_1_parameter_theta"):
        assert trained[name].tobytes() == kept[name].tobytes(), name


@pytest.mark.verify
@pytest.mark.parametrize("recurrent", [False, True])
def test_tiles_train_as_the_cpu_does(tmp_path: Path, recurrent: bool) -> None:
    """Without exp and tanh only sums over steps differ, in the gradients of parameters."""
    changes = {"data": {"kind": "digits", "samples": 64, "steps": 8}, "epochs": 1}
    layer = {**LAYER, "neurons": 12, "recurrent": recurrent}
    device = {"kind": "emulator", "tiles": 8}
    on_cpu = weights(attempt(tmp_path / "cpu", spec([layer], **changes)))
    ended = attempt(tmp_path / "tiles", spec([layer], **changes, device=device))
    on_tiles = weights(ended)
    profile = json.loads((ended.directory / "poplar_profile.json").read_text("utf-8"))
    ran = {run["name"] for run in profile["execution"]["runs"]}
    assert {"layer1/resonator/forward", "backward/layer1/resonator"} <= ran
    sets = [one["name"] for one in profile["compilation"]["computeSets"]]
    of_layer = {name for name in sets if "layer1" in name}
    assert of_layer == {
        "layer1/resonator/equations",
        "backward/layer1/resonator/equations_gradient",
    }
    for name, array in on_cpu.items():
        np.testing.assert_allclose(on_tiles[name], array, rtol=0, atol=1e-3, err_msg=name)
