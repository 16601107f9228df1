"""Jobs with neurons of packages: they learn, resume to the bit, and name what is missing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Dict, Iterator, List

import numpy as np
import pytest

from ipulse_core.spec.neuron_packages import VARIABLE
from ipulse_ops.keras.trained_network import trained_network
from ipulse_ops.neuron_package.loading import installed_packages
from tests.ops.neuron_package.wheels import importable, install, source, wheel
from tests.worker.runner.attempts import FinishedAttempt, attempt
from tests.worker.runner.resolver import resolve

pytestmark = pytest.mark.usefixtures("threads_are_set")
TRAINED = [
    {"name": "decay", "value": 0.6, "trainable": True},
    {"name": "coupling", "per": "layer", "trainable": True},
    {"name": "gain", "value": [0.5] * 32},
]


def install_package(folder: Path, text: str) -> str:
    """Install a package into a folder, and return its reference."""
    install(wheel(folder / "made", text), folder / "installed")
    (found,) = installed_packages([str(folder / "installed")])
    return found.reference


@pytest.fixture
def reference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The example, installed and signed off."""
    found = install_package(tmp_path, source())
    monkeypatch.setenv(VARIABLE, found)
    with importable(tmp_path / "installed"):
        yield found


def spec(reference: str, epochs: int = 2, **changes: Any) -> Dict[str, Any]:
    parameters = changes.pop("parameters", TRAINED)
    layer: Dict[str, Any] = {
        "kind": "package",
        "neurons": 32,
        "bias": True,
        "neuron": {"package": reference, "parameters": parameters},
        "recurrent": changes.pop("recurrent", False),
    }
    layers: List[Dict[str, Any]] = [layer, {"neurons": 24}]
    return {
        "version": 1,
        "seed": 3,
        "data": {"kind": "digits", "samples": 320, "steps": 20},
        "network": {"layers": layers},
        "training": {
            "epochs": epochs,
            "batch_size": 32,
            "optimizer": {"kind": "adam", "learning_rate": 0.01},
        },
        **changes,
    }


def arrays(ended: FinishedAttempt) -> Dict[str, np.ndarray]:
    assert ended.done["reason"] == "completed", ended.done
    with np.load(str(ended.directory / "weights.npz")) as found:
        return dict(found)


@pytest.mark.old_python
@pytest.mark.sample(1)
def test_a_network_learns_and_names_its_package(tmp_path: Path, reference: str) -> None:
    ended = attempt(tmp_path / "one", spec(reference, epochs=6))
    found = arrays(ended)
    assert sorted(found) == [
        "layer_1",
        "layer_1_bias",
        "layer_1_parameter_coupling",
        "layer_1_parameter_decay",
        "layer_2",
        "readout",
    ]
    assert found["layer_1_parameter_decay"].shape == (32,)
    assert len(np.unique(found["layer_1_parameter_decay"])) > 1
    assert found["layer_1_parameter_coupling"].shape == (1,)
    assert found["layer_1_parameter_coupling"] != np.float32(0.1)
    lines = (ended.directory / "metrics.jsonl").read_text("utf-8").splitlines()
    losses = [json.loads(line)["loss"] for line in lines]
    assert losses[-1] < 0.7 * losses[0]
    manifest = json.loads((ended.directory / "manifest.json").read_text("utf-8"))
    wanted = [{"package": reference, "version": "coupled-dendrites 1.0"}]
    assert manifest["neuron_packages"] == wanted
    assert reference in (ended.directory / "report.html").read_text("utf-8")
    with pytest.raises(ValueError, match="package"):
        trained_network(resolve("ExperimentSpec", spec(reference)), found)


@pytest.mark.verify
def test_a_resumed_job_ends_with_the_same_bits(tmp_path: Path, reference: str) -> None:
    whole = attempt(tmp_path / "whole", spec(reference, epochs=3, recurrent=True))
    first = attempt(tmp_path / "first", spec(reference, epochs=1, recurrent=True))
    rest = attempt(
        tmp_path / "rest",
        spec(reference, epochs=3, recurrent=True),
        start_from=str(first.directory / "checkpoint.npz"),
        start_mode="continue",
    )
    assert np.any(arrays(whole)["layer_1_recurrent"] != arrays(first)["layer_1_recurrent"])
    for name, array in arrays(whole).items():
        np.testing.assert_array_equal(array, arrays(rest)[name])


def test_without_a_sign_off_nothing_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = tmp_path / "mark"
    reference = install_package(tmp_path, source() + f"\nopen({str(mark)!r}, 'w').close()\n")
    monkeypatch.delenv(VARIABLE, raising=False)
    with importable(tmp_path / "installed"):
        ended = attempt(tmp_path / "a", spec(reference))
        assert ended.done["reason"] == "package_unavailable"
        assert VARIABLE in ended.done["message"]
        assert not mark.exists()
        monkeypatch.setenv(VARIABLE, reference)
        with (tmp_path / "installed" / "coupled_dendrites" / "__init__.py").open("a") as module:
            module.write("# changed\n")
        ended = attempt(tmp_path / "b", spec(reference))
        assert ended.done["reason"] == "package_unavailable"
        assert not mark.exists()


def test_parameters_out_of_the_package_s_bounds_end_the_job(tmp_path: Path, reference: str) -> None:
    wrong = [{"name": "decay", "value": 0.99}, {"name": "tau"}]
    ended = attempt(tmp_path / "a", spec(reference, parameters=wrong))
    assert "0.95" in ended.done["message"]
    assert "tau" in ended.done["message"]


BROKEN = {
    "raises": (
        "        return _run(currents, parameters)\n",
        "        1 / 0\n",
        "ZeroDivisionError",
    ),
    "other spikes": (
        "        return _run(currents, parameters)\n",
        "        found = _run(currents, parameters)\n        return found[0] * 2, found[1]\n",
        "0 or 1",
    ),
}


@pytest.mark.parametrize("change", BROKEN.values(), ids=BROKEN)
def test_a_package_that_breaks_its_promise_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Any
) -> None:
    old, new, expected = change
    reference = install_package(tmp_path, source().replace(old, new))
    monkeypatch.setenv(VARIABLE, reference)
    with importable(tmp_path / "installed"):
        ended = attempt(tmp_path / "a", spec(reference))
    assert ended.done["reason"] == "program_failed"
    assert expected in ended.done["message"]


def test_gradients_that_are_not_finite_end_the_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backward = "        return _adjoint(parameters, spikes, saved, by_spikes)\n"
    changed = (
        "        found = _adjoint(parameters, spikes, saved, by_spikes)\n"
        "        return found[0] + np.float32(np.inf), found[1]\n"
    )
    reference = install_package(tmp_path, source().replace(backward, changed))
    monkeypatch.setenv(VARIABLE, reference)
    with importable(tmp_path / "installed"):
        ended = attempt(tmp_path / "a", spec(reference))
    assert ended.done["reason"] == "diverged"
    assert "layer 1" in ended.done["message"]
