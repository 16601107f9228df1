"""The device `ipu`, from spec to artifacts, on a strict stand-in for Graphcore's TensorFlow."""

from __future__ import annotations

import functools
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict

import numpy as np
import pytest

from ipulse_core.states import Policy, Reason
from ipulse_worker.runner.attempts.training import AttemptProcess
from ipulse_worker.runner.backends import ipu
from ipulse_worker.runner.devices.ipu_process import configuration
from tests.ipu_fake import State
from tests.losses import margin, squared_spikes
from tests.worker.runner.attempts import attempt
from tests.worker.runner.devices.ipu_steps import keep_apart, on, weights
from tests.worker.runner.devices.test_poplar_errors import EXAMPLES
from tests.worker.runner.emulated import ipu_spec
from tests.worker.runner.specs import spec_from

if TYPE_CHECKING:
    pass


@pytest.mark.old_python
@pytest.mark.sample(1)
def test_trains_as_a_cpu_does(device: State, tmp_path: Path) -> None:
    """Three steps a program; artifacts, and the figures of the steps, are those of any device."""
    options = {"autoReport.all": "true"}
    result = attempt(tmp_path / "ipu", on("ipu", steps_per_execution=3, engine_options=options))
    assert result.done["reason"] == "completed", result.done
    other = attempt(tmp_path / "cpu", on("cpu", threads=1))
    for name, on_cpu in weights(other).items():
        np.testing.assert_allclose(
            weights(result)[name], on_cpu, rtol=1e-3, atol=1e-5, err_msg=name
        )
    for figure in ("loss", "accuracy", "test_loss", "test_accuracy", "dropped_spikes", "steps"):
        ours, theirs = result.done["summary"][figure], other.done["summary"][figure]
        assert ours == pytest.approx(theirs, rel=1e-4), figure
    names = {event["path"] for event in result.events if event["kind"] == "artifact"}
    assert names >= {"weights.npz", "report.html", "profile.json", "profile.pop", "debug.cbor"}
    assert (result.directory / "profile.pop").read_text().endswith("._steps")
    profile = json.loads((result.directory / "profile.json").read_text())
    assert profile["compilation"]["target"]["numIPUs"] == 1
    assert profile["execution"]["runs"][0]["steps"]["count"] == 6


@pytest.mark.verify
def test_states_of_half_are_those_of_the_emulator(device: State, tmp_path: Path) -> None:
    """Rounded at random by the step's seed, and run again from checkpoints."""
    half = {"states_dtype": "float16", "stochastic_rounding": True, "memory": "recompute"}
    result = attempt(tmp_path / "ipu", on("ipu", **half))
    assert result.done["reason"] == "completed", result.done
    other = attempt(tmp_path / "emulator", on("emulator", **half))
    exact = attempt(tmp_path / "exact", on("ipu"))
    for name, on_emulator in weights(other).items():
        np.testing.assert_allclose(
            weights(result)[name], on_emulator, rtol=1e-3, atol=1e-5, err_msg=name
        )
    assert result.done["summary"]["loss"] != exact.done["summary"]["loss"]


@pytest.mark.verify
def test_everything_that_a_step_may_have(device: State, tmp_path: Path) -> None:
    """XLA takes it, and it learns what a CPU learns; a capacity that grows is a new program."""
    more: Dict[str, Any] = {
        "network": {
            "layers": [{"neurons": 12, "capacity": {"grow": 1}}, {"neurons": 8, "bias": True}],
            "readout": {"kind": "spiking", "second_threshold": 0.2},
            "trainable": ["threshold"],
        },
        "training": {
            "epochs": 1,
            "batch_size": 12,
            "loss": "spike_count_mse",
            "optimizer": {"kind": "adamw", "learning_rate": 0.01, "weight_decay": 0.1},
            "gradient_clipping": {"value": 0.5, "global_norm": 0.3},
            "regularisers": [
                {"kind": "lower", "spikes": 2.0, "strength": 0.5},
                {"kind": "upper", "spikes": 0.5, "strength": 0.5},
            ],
            "second_threshold_ramp": {"epochs": 1, "start": 0.1},
            "schedule": {"shape": "cosine", "warmup_steps": 2},
        },
    }
    result = attempt(tmp_path / "ipu", ipu_spec({"kind": "ipu"}, **more))
    assert result.done["reason"] == "completed", result.done
    assert any("capacity grows" in line for line in result.log)
    other = attempt(tmp_path / "cpu", ipu_spec({"kind": "cpu", "threads": 1}, **more))
    for name, on_cpu in weights(other).items():
        np.testing.assert_allclose(
            weights(result)[name], on_cpu, rtol=1e-3, atol=1e-5, err_msg=name
        )


@pytest.mark.verify
def test_continues_from_a_checkpoint(
    device: State, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the same bits: queues begin with the batch of the step that is due."""
    device.checks_with_xla = False
    whole = attempt(tmp_path / "whole", on("ipu"))
    save = AttemptProcess._save

    def stop(self: AttemptProcess, training: Any) -> None:
        save(self, training)
        self.cancellation.requested = True

    with monkeypatch.context() as patch:
        patch.setattr(AttemptProcess, "_save", stop)
        stopped = attempt(tmp_path / "stopped", on("ipu"))
    assert stopped.done["reason"] == "cancelled_by_user"
    kept = str(stopped.directory / "checkpoint.npz")
    result = attempt(tmp_path / "resumed", on("ipu"), checkpoint=kept)
    assert "resumed from the checkpoint at step 3" in result.log
    for name, array in weights(whole).items():
        np.testing.assert_array_equal(weights(result)[name], array, err_msg=name)


def test_flags_join_those_of_the_spec(device: State, tmp_path: Path) -> None:
    os.environ["TF_POPLAR_FLAGS"] = "--max_compilation_threads=2 --executable_cache_path=/nowhere"
    options = {"acquire_poll_seconds": 0.5, "acquire_timeout_seconds": 7.0}
    made = ipu.IPU(spec_from(on("ipu", **options)), lambda *words, **level: None, lambda: None)
    made.configure()
    flags = device.flags()
    assert flags["max_compilation_threads"] == "2"
    assert flags["executable_cache_path"].startswith(str(tmp_path / "cache"))
    assert flags["on_demand_device_poll_time"] == "500"
    assert flags["on_demand_device_timeout"] == "7000"


@pytest.mark.parametrize(
    ("options", "values"),
    [
        ({}, {"auto_select_ipus": 1, "select_ipus": []}),
        ({"device_id": 4}, {"auto_select_ipus": [], "select_ipus": [4]}),
        (
            {"device_id": 4, "connection_type": "NEVER", "architecture": "ipu21"},
            {"auto_select_ipus": 1, "device_connection.version": "ipu21"},
        ),
    ],
)
def test_the_spec_chooses_the_device(
    device: State, options: Dict[str, Any], values: Dict[str, Any]
) -> None:
    from tensorflow.python import ipu as module  # type: ignore[attr-defined] # where it was put

    settings = spec_from(on("ipu", **options)).device
    assert settings.kind == "ipu"
    config = configuration(module, settings)
    for path, value in values.items():
        assert functools.reduce(getattr, path.split("."), config) == value, path


@pytest.mark.parametrize(
    ("words", "reason", "_policy"), EXAMPLES, ids=lambda value: getattr(value, "name", "")
)
def test_an_error_of_poplar_ends_the_attempt_with_its_reason(
    device: State, tmp_path: Path, words: str, reason: Reason, _policy: Policy
) -> None:
    device.error = words
    result = attempt(tmp_path / "work", on("ipu"))
    assert result.done["reason"] == reason.value
    assert not [event for event in result.events if event["kind"] == "artifact"]
    assert device.configured is None  # given back


def test_codelets_that_poplar_cannot_load_are_refused(device: State, tmp_path: Path) -> None:
    """Not worded by the stand-in: the graph is built, and what takes it refuses it."""
    device.checks_with_xla = False
    codelets = Path(os.environ["IPULSE_POPLAR_OP"]) / "ipulse_lif.gp"
    whole = codelets.read_bytes()
    codelets.unlink()  # a link
    codelets.write_bytes(whole[: len(whole) // 2])
    result = attempt(tmp_path / "work", on("ipu"))
    assert result.done["reason"] == "graph_refused", result.done
    assert "file_load_error" in result.done["message"]
    assert str(codelets) in result.done["message"]


@pytest.mark.old_python
class TestWithoutAnSDK:
    def test_the_op_is_missing(
        self, device: State, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("IPULSE_POPLAR_OP")
        monkeypatch.setenv("PATH", str(tmp_path))
        result = attempt(tmp_path / "work", on("ipu"))
        assert result.done["reason"] == "kernel_unavailable"
        assert "enable.sh" in result.done["message"]
        assert "IPULSE_POPLAR_OP" in result.done["message"]

    def test_tensorflow_is_missing(
        self, device: State, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.undo()
        built = tmp_path / "op"
        monkeypatch.setenv("IPULSE_POPLAR_OP", str(built))
        keep_apart(tmp_path, monkeypatch)
        result = attempt(tmp_path / "work", on("ipu"))
        assert result.done["reason"] == "kernel_unavailable"
        assert "IPULSE_RUNNER_PYTHON" in result.done["message"]


@pytest.mark.verify
@pytest.mark.parametrize(
    ("loss", "readout"),
    [
        pytest.param(margin(), {"kind": "leaky"}, id="membrane"),
        pytest.param(squared_spikes(), {"kind": "spiking"}, id="spike_count"),
    ],
)
def test_a_loss_of_equations_trains_as_on_a_cpu(
    device: State, tmp_path: Path, loss: Dict[str, Any], readout: Dict[str, Any]
) -> None:
    """In float32, with a padded last batch."""
    document = on("ipu", steps_per_execution=3)
    document["network"]["readout"] = readout
    document["training"] = {**document["training"], "epochs": 1, "loss": loss}
    result = attempt(tmp_path / "ipu", document)
    assert result.done["reason"] == "completed", result.done
    other = attempt(tmp_path / "cpu", {**document, "device": {"kind": "cpu", "threads": 1}})
    for name, on_cpu in weights(other).items():
        np.testing.assert_allclose(
            weights(result)[name], on_cpu, rtol=1e-3, atol=1e-5, err_msg=name
        )
    for figure in ("loss", "accuracy", "test_loss", "test_accuracy"):
        ours, theirs = result.done["summary"][figure], other.done["summary"][figure]
        assert ours == pytest.approx(theirs, rel=1e-4), figure
