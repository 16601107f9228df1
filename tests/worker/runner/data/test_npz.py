from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ipulse_core.data_files.directory import DataDirectory
from ipulse_core.spec.derived_values import channels_per_value
from ipulse_worker.runner.data import Dataset, npz
from ipulse_worker.runner.data.dataset import DataInvalid
from ipulse_worker.runner.data.encoding import encode
from tests.worker.runner.specs import LinearLatency, NpzData, PopulationCode, RateCode

SEED = 77
DATA = NpzData(name="mine", channels=6, classes=3, steps=5)
COUNTED = NpzData(name="mine", channels=6, classes=3, steps=5, input="counts")


def dense_spikes() -> np.ndarray:
    return np.random.RandomState(SEED).rand(9, 5, 6) < 0.3  # [samples, steps, channels]


LABELS = np.arange(9) % 3


def loaded(folder: Path, data: NpzData = DATA, **arrays: Any) -> Dataset:
    if arrays:
        np.savez_compressed(str(folder / "mine.npz"), **arrays)
    return npz.load(data, DataDirectory(folder), lambda done, samples: None)


@pytest.mark.parametrize(
    ("value", "place"), [(0.5, "0.5"), (-1, "-1"), (70_000, "70000"), (np.nan, "nan")]
)
def test_counts_are_whole_numbers_of_sixteen_bits(tmp_path: Path, value: float, place: str) -> None:
    spikes = dense_spikes().astype(np.float64)
    spikes[4, 3, 2] = value
    wrong = f"spikes of sample 4, step 3 and channel 2 are {place}"
    with pytest.raises(DataInvalid, match=wrong):
        loaded(tmp_path, COUNTED, spikes=spikes, labels=LABELS)


def test_counts_are_read_from_spikes_only_where_the_spec_asks(tmp_path: Path) -> None:
    spikes = 3 * dense_spikes().astype(np.uint8)
    assert loaded(tmp_path, COUNTED, spikes=spikes, labels=LABELS).events.kept == spikes.sum()
    with pytest.raises(DataInvalid, match=r"set data\.input to counts"):
        loaded(tmp_path)


def as_dense(dataset: Dataset) -> np.ndarray:
    ids, counts = dataset.trains.batch(np.arange(dataset.trains.samples))
    spikes = np.zeros((dataset.trains.samples, 5, 6), dtype=bool)
    step, sample, slot = np.nonzero(np.arange(ids.shape[2]) < counts[:, :, None])
    spikes[sample, step, ids[step, sample, slot]] = True
    return spikes


@pytest.mark.old_python
class TestForms:
    """The same spikes in three forms."""

    @pytest.mark.parametrize("kind", [bool, np.uint8, np.float32])
    def test_dense(self, tmp_path: Path, kind: Any) -> None:
        dataset = loaded(tmp_path, spikes=dense_spikes().astype(kind), labels=LABELS)
        np.testing.assert_array_equal(as_dense(dataset), dense_spikes())
        assert dataset.labels.tolist() == LABELS.tolist()

    def test_ids_and_counts(self, tmp_path: Path) -> None:
        spikes = dense_spikes()
        counts = spikes.sum(axis=2)
        ids = np.argsort(~spikes, axis=2, kind="stable").astype(np.uint16)
        dataset = loaded(tmp_path, ids=ids, counts=counts, labels=LABELS)
        np.testing.assert_array_equal(as_dense(dataset), spikes)

    @pytest.mark.parametrize("at_once", [1, 20, npz.EVENTS_AT_ONCE])
    def test_events(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
        """In any order, of whole samples at once; the third and the last have none."""
        monkeypatch.setattr(npz, "EVENTS_AT_ONCE", at_once)
        spikes = dense_spikes()
        spikes[[2, 8]] = False
        sample, step, channel = np.nonzero(spikes)
        shuffled = np.random.RandomState(SEED).permutation(len(sample))
        dataset = loaded(
            tmp_path,
            replace(DATA, step_ms=2.0),
            event_samples=sample[shuffled],
            event_times_ms=2.0 * step[shuffled] + 1.9,
            event_channels=channel[shuffled],
            labels=LABELS,
        )
        np.testing.assert_array_equal(as_dense(dataset), spikes)

    def test_a_cancel_is_received_between_events(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(npz, "EVENTS_AT_ONCE", 20)
        sample, step, channel = np.nonzero(dense_spikes())
        events = {"event_samples": sample, "event_times_ms": step, "event_channels": channel}
        np.savez(str(tmp_path / "mine.npz"), labels=LABELS, **events)
        reported = []

        def cancelled_after_two(done: int, samples: int) -> None:
            reported.append((done, samples))
            if len(reported) == 2:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            npz.load(DATA, DataDirectory(tmp_path), cancelled_after_two)
        assert 0 < reported[0][0] < reported[1][0] < 9 == reported[1][1]

    @pytest.mark.parametrize("code", [LinearLatency(), RateCode(), PopulationCode(fields=3)])
    def test_values_are_encoded(
        self, tmp_path: Path, code: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """In chunks as in one piece."""
        monkeypatch.setattr(npz, "SAMPLES_AT_ONCE", 4)
        values = np.random.RandomState(SEED).rand(9, 2, 3)
        dataset = loaded(tmp_path, replace(DATA, encoding=code), values=values, labels=LABELS)
        events = encode(values.reshape(9, 6), code, 5, 1.0)
        on_time = events.step < 5
        assert dataset.trains.channels == 6 * channels_per_value(code)
        assert dataset.events.kept == on_time.sum()
        order = np.lexsort((events.channel[on_time], events.step[on_time], events.sample[on_time]))
        np.testing.assert_array_equal(dataset.trains.spike_channels, events.channel[on_time][order])
        assert dataset.images is not None
        np.testing.assert_array_equal(dataset.images, values)

    def test_flat_values_are_no_images(self, tmp_path: Path) -> None:
        data = replace(DATA, encoding=LinearLatency())
        assert loaded(tmp_path, data, values=np.ones((9, 6)), labels=LABELS).images is None


@pytest.mark.old_python
class TestSplit:
    def test_is_that_of_the_file_where_given(self, tmp_path: Path) -> None:
        test = np.arange(9) >= 7
        dataset = loaded(tmp_path, spikes=dense_spikes(), labels=LABELS, test=test)
        assert dataset.test.tolist() == [7, 8]

    def test_is_a_share_of_every_class_otherwise(self, tmp_path: Path) -> None:
        data = replace(DATA, test_fraction=1 / 3)
        dataset = loaded(tmp_path, data, spikes=dense_spikes(), labels=LABELS)
        assert sorted(dataset.labels[dataset.test].tolist()) == [0, 1, 2]


def test_drops_and_counts_what_finds_no_slot(tmp_path: Path) -> None:
    full = np.ones((9, 5, 6), dtype=bool)
    dataset = loaded(tmp_path, replace(DATA, capacity=2), spikes=full, labels=LABELS)
    assert dataset.trains.slots == 2
    assert dataset.events.over_capacity == 9 * 5 * 4
