"""Jobs with a loss of equations: they learn, resume to the bit, and report the equations."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict

import numpy as np
import pytest

from tests.losses import cross_entropy, loss_document, margin, squared_spikes
from tests.worker.runner.attempts import FinishedAttempt, attempt

pytestmark = pytest.mark.usefixtures("threads_are_set")

DIGITS = {"kind": "digits", "samples": 128, "steps": 12}
FAST = {"kind": "adam", "learning_rate": 0.01}


def spec(loss: Any, epochs: int = 2, **changes: Any) -> Dict[str, Any]:
    training = {"epochs": epochs, "batch_size": 32, "optimizer": FAST, "loss": loss}
    network = {"layers": [{"neurons": 24}]}
    base = {"version": 1, "seed": 3, "data": DIGITS, "network": network, "training": training}
    return {**base, **changes}


def weights(ended: FinishedAttempt) -> Dict[str, np.ndarray]:
    assert ended.done["reason"] == "completed", ended.done
    with np.load(str(ended.directory / "weights.npz")) as arrays:
        return dict(arrays)


def assert_near(one: Dict[str, np.ndarray], two: Dict[str, np.ndarray]) -> None:
    """Weights of two trainings that differ by the rounding of their losses."""
    for name, array in one.items():
        np.testing.assert_allclose(two[name], array, rtol=0, atol=1e-3, err_msg=name)


@pytest.mark.old_python
def test_a_known_loss_trains_as_the_one_that_exists(tmp_path: Path) -> None:
    own = attempt(tmp_path / "own", spec(cross_entropy()))
    assert_near(
        weights(attempt(tmp_path / "built_in", spec("mean_membrane_cross_entropy"))), weights(own)
    )
    page = (own.directory / "report.html").read_text(encoding="utf-8")
    assert "-sum(label * log_softmax(score))" in page


def test_a_job_that_continues_is_one_longer_job(tmp_path: Path) -> None:
    whole = weights(attempt(tmp_path / "whole", spec(margin(), epochs=2)))
    first = attempt(tmp_path / "first", spec(margin(), epochs=1))
    second = attempt(
        tmp_path / "second",
        spec(margin(), epochs=2),
        start_from=str(first.directory / "checkpoint.npz"),
        start_mode="continue",
    )
    for name, array in weights(second).items():
        assert array.tobytes() == whole[name].tobytes(), name


@pytest.mark.parametrize(
    "loss",
    [
        {**squared_spikes(), "name": "counts"},
        loss_document("-sum(label * log_softmax(-first_spike / 5))", name="latency"),
    ],
    ids=["spike_count", "first_spike"],
)
def test_losses_of_spikes(tmp_path: Path, loss: Any) -> None:
    known = "spike_count_mse"
    more: Dict[str, Any] = {}
    if loss["name"] == "latency":
        known, more = "first_spike_cross_entropy", {"first_spike_ms": 5.0}
    network = {"layers": [{"neurons": 24}], "readout": {"kind": "spiking"}}
    own = weights(attempt(tmp_path / "own", spec(loss, 1, network=network)))
    document = spec(known, 1, network=network)
    document["training"].update(more)
    assert_near(weights(attempt(tmp_path / "known", document)), own)


def test_what_is_not_finite_ends_the_job(tmp_path: Path) -> None:
    loss = loss_document("sum(label * log(last(membrane) - 100))")
    ended = attempt(tmp_path / "a", spec(loss, 1))
    assert ended.done["reason"] == "diverged"
    assert "loss" in ended.done["message"]


@pytest.mark.verify
@pytest.mark.parametrize("training", ["host", "device"])
def test_an_emulated_ipu_trains_as_the_cpu_does(tmp_path: Path, training: str) -> None:
    """With 70 samples the last batches are padded."""
    changes = {"data": {"kind": "digits", "samples": 70, "steps": 8}, "epochs": 1}
    on_cpu = weights(attempt(tmp_path / "cpu", spec(margin(), **changes)))
    device = {"kind": "emulator", "tiles": 8, "training": training}
    on_tiles = weights(attempt(tmp_path / "tiles", spec(margin(), **changes, device=device)))
    assert_near(on_cpu, on_tiles)
