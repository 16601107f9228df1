"""The validation part of every kind of data that needs no published files."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ipulse_core.data_sets import UPLOADED_FOLDER, UPLOADED_NAME
from ipulse_worker.runner.data import Dataset
from ipulse_worker.runner.data.dataset import DataInvalid
from ipulse_worker.runner.data.load import load
from ipulse_worker.runner.data.uploaded import directory_of
from tests.worker.runner import specs as spec

SEED = 5
SMALL = {"samples_per_class": 25, "steps": 10}
GENERATED = {
    "digits": spec.DigitsData(samples=300),
    "randman": spec.RandmanData(classes=3, units=4, **SMALL),
    "yin_yang": spec.YinYangData(),
    "poisson": spec.PoissonData(classes=3, channels=9, **SMALL),
    "frozen_noise": spec.FrozenNoiseData(classes=3, channels=9, rate_hz=50, **SMALL),
}


def loaded(data: Any, folder: Path) -> Dataset:
    directory = directory_of(data, folder, {"IPULSE_DATA": str(folder)})
    return load(data, directory, lambda done, samples: None)


def own(folder: Path, labels: Any, uploaded: bool = False, test: Any = None, **fields: Any) -> Any:
    """Data in an npz file, of the workers' owner or uploaded."""
    spikes = np.random.RandomState(SEED).rand(len(labels), 5, 6) < 0.5
    arrays = {"spikes": spikes, "labels": labels, **({} if test is None else {"test": test})}
    shape = {"channels": 6, "classes": 3, "steps": 5}
    if not uploaded:
        np.savez(str(folder / "mine.npz"), **arrays)
        return spec.NpzData(name="mine", **shape, **fields)
    (folder / UPLOADED_FOLDER).mkdir(exist_ok=True)
    path = folder / UPLOADED_FOLDER / f"{UPLOADED_NAME}.npz"
    np.savez(str(path), **arrays)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return spec.NpzData(dataset=f"sha256:{digest}", **shape, **fields)


def parts(dataset: Dataset) -> Any:
    return [part.tolist() for part in (dataset.training, dataset.validation, dataset.test)]


@pytest.mark.parametrize("kind", [*GENERATED, "npz", "uploaded"])
def test_is_the_same_stratified_part_of_the_training_samples(tmp_path: Path, kind: str) -> None:
    if kind in GENERATED:
        data = GENERATED[kind]
    else:
        data = own(tmp_path, np.arange(90) % 3, uploaded=kind == "uploaded")
    whole = loaded(data, tmp_path)
    assert len(whole.validation) == 0
    divided = loaded(replace(data, validation=0.2), tmp_path)
    assert parts(loaded(replace(data, validation=0.2), tmp_path)) == parts(divided)
    assert divided.test.tolist() == whole.test.tolist()
    assert not set(divided.training) & set(divided.validation)
    both = np.sort(np.concatenate([divided.training, divided.validation]))
    assert both.tolist() == whole.training.tolist()
    assert divided.trains.spike_channels.tobytes() == whole.trains.spike_channels.tobytes()
    classes = np.bincount(whole.labels[whole.training])
    chosen = np.bincount(whole.labels[divided.validation], minlength=len(classes))
    assert np.abs(chosen - 0.2 * classes).max() <= 1.0
    if kind != "yin_yang":  # its points have no seed
        field = "seed" if hasattr(data, "seed") else "split_seed"
        other = loaded(replace(data, validation=0.2, **{field: SEED}), tmp_path)
        assert other.validation.tolist() != divided.validation.tolist()


def test_has_no_shifted_copy_among_the_training_samples(tmp_path: Path) -> None:
    data = spec.DigitsData(samples=100, shifts=spec.Shifts(copies=2))
    whole = loaded(data, tmp_path)
    divided = loaded(replace(data, validation=0.25), tmp_path)
    assert whole.images is not None
    assert divided.images is not None
    originals = whole.training[whole.training < 100]
    copies = whole.images[100:].reshape(2, len(originals), 8, 8)
    validated = np.isin(originals, divided.validation)
    assert validated.sum() == len(divided.validation) == 20
    forbidden = {image.tobytes() for image in copies[:, validated].reshape(-1, 8, 8)}
    trained = {image.tobytes() for image in divided.images[divided.training]}
    assert not forbidden & trained
    assert {image.tobytes() for image in copies[:, ~validated].reshape(-1, 8, 8)} <= trained


@pytest.mark.parametrize(
    ("labels", "fraction", "message"),
    [
        ([0, 1, 2] * 3, 0.1, "class 1, which has 3, without a validation sample"),
        ([0, 1, 1, 1], 0.5, "class 0, which has 1, without a training sample"),
    ],
)
def test_that_leaves_a_class_out_is_refused(
    tmp_path: Path, labels: Any, fraction: float, message: str
) -> None:
    test = np.arange(len(labels) + 3) >= len(labels)
    data = own(tmp_path, np.array([*labels, 0, 1, 2]), test=test, validation=fraction)
    with pytest.raises(DataInvalid, match=r"^data\.validation: ") as raised:
        loaded(data, tmp_path)
    assert message in str(raised.value)
