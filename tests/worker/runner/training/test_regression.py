"""Trainings of a regression: losses fall, and every figure is one that means something."""

from __future__ import annotations

import signal
from dataclasses import replace
from pathlib import Path
from typing import Any, Dict, Iterator

import numpy as np
import pytest

from ipulse_core.data_files.directory import DataDirectory
from ipulse_worker.runner.cancellation import Cancellation
from ipulse_worker.runner.data.dataset import DataInvalid
from ipulse_worker.runner.data.load import load
from ipulse_worker.runner.data.targets import with_targets
from ipulse_worker.runner.training.evaluation import evaluate
from ipulse_worker.runner.training.loop import Training
from ipulse_worker.runner.training.output_errors import OutputErrors
from tests.losses import loss_document, squared_outputs
from tests.worker.runner.trainings import recorded_progress, spec_of, training_on

STEPS, CHANNELS, SAMPLES = 20, 12, 120
OPTIMIZER = {"kind": "adam", "learning_rate": 0.02}
OWN_LOSS = loss_document("mean_over_time(mean(abs(membrane - step_target)))", name="absolute")
READOUT = {"kind": "leaky", "decay": 0.9, "gain": 1.0, "bias": True}


@pytest.fixture
def cancellation() -> Iterator[Cancellation]:
    before = signal.getsignal(signal.SIGTERM)
    yield Cancellation()
    signal.signal(signal.SIGTERM, before)


@pytest.fixture
def directory(tmp_path: Path) -> DataDirectory:
    """Files with targets that follow from the spikes: rates of two halves, by sample or so far."""
    random = np.random.RandomState(11)
    rates = random.uniform(0.05, 0.6, (SAMPLES, 1, 2)).repeat(CHANNELS // 2, axis=2)
    spikes = random.rand(SAMPLES, STEPS, CHANNELS) < rates
    by_sample = 4 * (rates[:, 0, :: CHANNELS // 2] - 0.3)
    ramp = np.linspace(0, 1, STEPS)[np.newaxis, :, np.newaxis]
    np.savez(tmp_path / "sample.npz", spikes=spikes, targets=by_sample)
    np.savez(tmp_path / "step.npz", spikes=spikes, targets=by_sample[:, np.newaxis] * ramp)
    np.savez(tmp_path / "labels.npz", spikes=spikes, labels=np.arange(SAMPLES) % 2)
    return DataDirectory(tmp_path)


def spec(name: str, loss: Any, **data: Any) -> Any:
    sizes: Dict[str, Any] = {"channels": CHANNELS, "outputs": 2, "steps": STEPS}
    return spec_of(
        data={"kind": "npz", "name": name, **sizes, **data},
        network={"layers": [{"neurons": 32}], "readout": READOUT},
        training={"loss": loss, "epochs": 25, "batch_size": 12, "optimizer": OPTIMIZER},
    )


def trained(settings: Any, directory: DataDirectory, cancellation: Cancellation) -> Training:
    dataset = load(settings.data, directory, lambda done, samples: None)
    training = training_on(settings, with_targets(dataset, settings))
    with recorded_progress(training) as (progress, _):
        training.run(progress, cancellation, lambda: None)
    return training


@pytest.mark.parametrize(
    ("name", "loss"),
    [
        ("sample", "mean_membrane_mse"),
        ("sample", "last_membrane_mse"),
        ("sample", "step_mse"),
        ("step", "step_mse"),
        ("step", OWN_LOSS),
    ],
)
def test_learns_the_targets(
    name: str, loss: Any, directory: DataDirectory, cancellation: Cancellation
) -> None:
    training = trained(spec(name, loss, validation=0.2), directory, cancellation)
    history = training.history
    assert history.epochs("test_loss")[-1] < history.epochs("test_loss")[0] / 2
    for figure in ("mae", "test_mae", "validation_mae", "validation_loss"):
        assert history.epochs(figure)[-1] < history.epochs(figure)[0]
    assert not any("accuracy" in key for record in history.records for key in record)
    evaluation = evaluate(training.model, training.dataset, training.spec)
    errors = evaluation.errors
    assert errors is not None
    assert (errors.r2 or 0) > 0.3
    assert evaluation.confusion is None
    # The sums of the device and those in float64 by output are of the same samples.
    by_loss = errors.mean_squared if isinstance(loss, str) else errors.mean_absolute
    np.testing.assert_allclose(by_loss.mean(), evaluation.metrics.loss, rtol=1e-5)
    np.testing.assert_allclose(errors.mean_absolute.mean(), evaluation.metrics.score, rtol=1e-5)


def test_threads_do_not_change_the_result(
    directory: DataDirectory, cancellation: Cancellation
) -> None:
    settings = spec("step", "step_mse")
    settings = replace(settings, training=replace(settings.training, epochs=2))
    runs = []
    for threads in (1, 2):
        dataset = load(settings.data, directory, lambda done, samples: None)
        training = training_on(settings, with_targets(dataset, settings), threads)
        with recorded_progress(training) as (progress, _):
            training.run(progress, cancellation, lambda: None)
        runs.append([array.tobytes() for array in training.model.trained])
    assert runs[0] == runs[1]


@pytest.mark.parametrize(
    ("name", "loss", "data"),
    [
        ("labels", "step_mse", {}),
        ("sample", "mean_membrane_mse", {"outputs": 3}),
        ("step", "mean_membrane_mse", {}),
        ("step", squared_outputs(), {}),
        ("step", "step_mse", {"steps": STEPS - 1}),
    ],
)
def test_targets_that_do_not_fit_are_refused(
    name: str, loss: Any, data: Dict[str, Any], directory: DataDirectory
) -> None:
    settings = spec(name, loss, **data)
    with pytest.raises(DataInvalid):
        with_targets(load(settings.data, directory, lambda done, samples: None), settings)


def test_r2_is_1_for_equal_and_0_for_mean_outputs() -> None:
    targets = np.random.RandomState(5).randn(50, 3)
    targets[:, 2] = 7.0  # constant: there is no variance to explain
    equal, mean = OutputErrors(3), OutputErrors(3)
    for part in np.split(targets, 5):
        equal.add(part, part)
        mean.add(np.broadcast_to(targets.mean(axis=0), part.shape), part)
    assert equal.by_output == [1.0, 1.0, None]
    assert equal.r2 == 1.0
    assert mean.by_output[2] is None
    np.testing.assert_allclose(mean.by_output[:2], [0.0, 0.0], atol=1e-12)
