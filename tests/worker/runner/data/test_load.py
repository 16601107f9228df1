"""Refusals and warnings for data sets that their own loaders accept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ipulse_core.data_files.directory import DataDirectory
from ipulse_worker.runner.data import Dataset, digits
from ipulse_worker.runner.data.dataset import DataInvalid, DataTooLarge
from ipulse_worker.runner.data.load import load
from tests.worker.runner.specs import DigitsData, LinearLatency, NpzData, PoissonData, SHDData

from .loaded import loaded
from .recorded import write_hdf5

DATA = NpzData(name="mine", channels=6, classes=3, steps=5)


def of_events(folder: Path, times_ms: Any, data: NpzData = DATA, **more: Any) -> Dataset:
    """Return a data set of one event per sample, of three classes in turn."""
    times_ms = np.asarray(times_ms)
    samples = np.arange(len(times_ms))
    arrays = {
        "event_samples": samples,
        "event_times_ms": times_ms,
        "event_channels": samples % 6,
        "labels": samples % 3,
        **more,
    }
    np.savez(str(folder / "mine.npz"), **arrays)
    return load(data, DataDirectory(folder), lambda done, total: None)


class TestRefused:
    def test_when_all_events_are_outside_with_the_counts(self, tmp_path: Path) -> None:
        words = r"mine \(npz\).* 12 events .* from 1,000 ms to 12,000 ms: 5 steps .* end at 5 ms"
        with pytest.raises(DataInvalid, match=words):
            of_events(tmp_path, np.arange(1, 13) * 1000.0)

    def test_when_all_events_are_before_the_first_step(self, tmp_path: Path) -> None:
        with pytest.raises(DataInvalid, match="from -12 ms to -1 ms"):
            of_events(tmp_path, -np.arange(1.0, 13.0))

    def test_when_only_test_samples_have_spikes(self, tmp_path: Path) -> None:
        test = np.arange(12) >= 8
        with pytest.raises(DataInvalid, match="only test samples"):
            of_events(tmp_path, np.where(test, 1.0, 99.0), test=test)

    def test_when_there_is_no_event(self, tmp_path: Path) -> None:
        none = {name: np.zeros(0, int) for name in ("event_samples", "event_channels")}
        with pytest.raises(DataInvalid, match="none of the 12 samples has an event"):
            of_events(tmp_path, np.zeros(12), event_times_ms=np.zeros(0), **none)

    def test_when_no_spike_is_in_any_array(self, tmp_path: Path) -> None:
        np.savez(str(tmp_path / "mine.npz"), spikes=np.zeros((9, 5, 6)), labels=np.arange(9) % 3)
        with pytest.raises(DataInvalid, match="none of the 9 samples"):
            load(DATA, DataDirectory(tmp_path), lambda done, total: None)

    def test_when_values_are_encoded_as_silence(self, tmp_path: Path) -> None:
        np.savez(str(tmp_path / "mine.npz"), values=np.zeros((9, 6)), labels=np.arange(9) % 3)
        data = NpzData(name="mine", channels=6, classes=3, steps=5, encoding=LinearLatency())
        with pytest.raises(DataInvalid, match="none of the 9 samples"):
            load(data, DataDirectory(tmp_path), lambda done, total: None)

    def test_when_rates_are_zero(self) -> None:
        with pytest.raises(DataInvalid, match="data set poisson: none of"):
            loaded(PoissonData(low_rate=0.0, high_rate=0.0))

    def test_when_recorded_times_are_milliseconds_instead_of_seconds(self, tmp_path: Path) -> None:
        (tmp_path / "shd").mkdir()
        for part in ("train", "test"):
            write_hdf5(tmp_path / "shd" / f"shd_{part}.h5", [([200.0, 900.0], [1, 2])], [0])
        with pytest.raises(DataInvalid, match=r"200,000 ms to 900,000 ms.* not in seconds"):
            load(SHDData(), DataDirectory(tmp_path), lambda done, total: None)


class TestWarnings:
    def test_none_for_good_data(self, tmp_path: Path) -> None:
        assert of_events(tmp_path, np.arange(12) % 4).warnings == ()
        assert loaded(DigitsData()).warnings == ()

    def test_if_more_than_half_of_the_events_are_outside(self, tmp_path: Path) -> None:
        times = np.where(np.arange(30) % 5 < 2, 1.0, 700.0)
        (warning,) = of_events(tmp_path, times).warnings
        assert "18 of 30 events are outside of the time steps, from 1 ms to 700 ms" in warning

    def test_not_if_half_of_the_events_are_outside(self, tmp_path: Path) -> None:
        assert of_events(tmp_path, np.where(np.arange(30) % 2, 1.0, 700.0)).warnings == ()

    def test_if_all_events_are_in_the_first_step(self, tmp_path: Path) -> None:
        (warning,) = of_events(tmp_path, np.arange(12) / 1000).warnings
        assert "in the first of 5 time steps" in warning
        assert "milliseconds" in warning

    def test_if_no_label_is_in_both_parts(self, tmp_path: Path) -> None:
        labels = np.repeat([0, 1, 2], 4)
        (warning,) = of_events(
            tmp_path, np.arange(12) % 4, labels=labels, test=labels == 2
        ).warnings
        assert "no label of the test samples (2) is among those of the training samples (0, 1)" in (
            warning
        )

    def test_if_there_is_one_class(self, tmp_path: Path) -> None:
        (warning,) = of_events(tmp_path, np.arange(12) % 4, labels=np.full(12, 2)).warnings
        assert "all training samples have the label 2" in warning


def test_a_lack_of_memory_is_that_of_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    def exhausted(*_: Any) -> None:
        raise MemoryError("Unable to allocate 64.0 GiB")

    monkeypatch.setattr(digits, "load", exhausted)
    with pytest.raises(DataTooLarge, match=r"digits: Unable to allocate 64\.0 GiB"):
        loaded(DigitsData())
