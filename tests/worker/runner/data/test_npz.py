from __future__ import annotations

import io
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ipulse_core.data_files import npz_file
from ipulse_core.data_files.directory import DataDirectory
from ipulse_core.spec.derived_values import channels_per_value
from ipulse_worker.runner.data import Dataset, DataUnavailable, npz
from ipulse_worker.runner.data.dataset import DataInvalid
from ipulse_worker.runner.data.encoding import encode
from tests.worker.runner.specs import LinearLatency, NpzData, PopulationCode, RateCode

SEED = 77
DATA = NpzData(name="mine", channels=6, classes=3, steps=5)


def dense_spikes() -> np.ndarray:
    return np.random.RandomState(SEED).rand(9, 5, 6) < 0.3  # [samples, steps, channels]


LABELS = np.arange(9) % 3


def loaded(folder: Path, data: NpzData = DATA, **arrays: Any) -> Dataset:
    if arrays:
        np.savez_compressed(str(folder / "mine.npz"), **arrays)
    return npz.load(data, DataDirectory(folder), lambda done, samples: None)


def as_dense(dataset: Dataset) -> np.ndarray:
    ids, counts = dataset.trains.batch(np.arange(dataset.trains.samples))
    spikes = np.zeros((dataset.trains.samples, 5, 6), dtype=bool)
    step, sample, slot = np.nonzero(np.arange(ids.shape[2]) < counts[:, :, None])
    spikes[sample, step, ids[step, sample, slot]] = True
    return spikes


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


BAD = {
    "no labels": ({"labels": None}, "must have labels"),
    "labels of another class": ({"labels": LABELS + 1}, "sample 2 has the label 3"),
    "labels that are no integers": ({"labels": LABELS + 0.5}, "must have labels"),
    "more labels than samples": ({"labels": np.zeros(10, int)}, "9 samples of spikes, 10 labels"),
    "spikes that are no spikes": ({"spikes": dense_spikes() * 2}, "must be 0 or 1"),
    "other channels": ({"spikes": np.zeros((9, 5, 7), bool)}, "7 channels, data.channels is 6"),
    "too few axes": ({"spikes": np.zeros((9, 5), bool)}, "must have 3 axes; it has 2"),
    "two forms": ({"values": np.zeros((9, 6))}, "the arrays of one form"),
    "half a form": ({"spikes": None, "ids": np.zeros((9, 5, 1), int)}, "the arrays of one form"),
    "no form": ({"spikes": None}, "it has none"),
    "counts of too many": (
        {"spikes": None, "ids": np.zeros((9, 5, 1), int), "counts": np.full((9, 5), 2)},
        "counts must be 0 to 1",
    ),
    "ids out of range": (
        {"spikes": None, "ids": np.full((9, 5, 1), 6), "counts": np.ones((9, 5), int)},
        "sample 0 has the channel 6 in ids",
    ),
    "counts of other samples": (
        {"spikes": None, "ids": np.zeros((9, 5, 1), int), "counts": np.ones((9, 4), int)},
        "so counts must be",
    ),
    "values without an encoding": (
        {"spikes": None, "values": np.zeros((9, 6))},
        "data.encoding must be given",
    ),
    "everything held out": ({"test": np.ones(9, bool)}, "test must be booleans"),
    "unknown arrays": ({"extra": np.zeros(1)}, "holds 'extra.npy'; the arrays are counts"),
    "an object": ({"test": np.array([{}] * 9, dtype=object)}, "its type is object, not booleans"),
    "text": (
        {"test": np.array(["a"] * 9)},
        "test.npy is no array of numbers: its type is <U1, not",
    ),
    "events without a sample": (
        {
            "spikes": None,
            "event_samples": np.array([9]),
            "event_times_ms": np.array([0.0]),
            "event_channels": np.array([0]),
        },
        "event_samples must be 0 to 8",
    ),
    "events without a time": (
        {
            "spikes": None,
            "event_samples": np.array([0, 1]),
            "event_times_ms": np.array([0.0, np.nan]),
            "event_channels": np.array([0, 0]),
        },
        "event 1 has a time that is no time",
    ),
    "events that are at true": (
        {
            "spikes": None,
            "event_samples": np.array([0, 1]),
            "event_times_ms": np.array([False, True]),
            "event_channels": np.array([0, 0]),
        },
        "event_times_ms numbers",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_problems_of_a_file_are_named(tmp_path: Path, name: str) -> None:
    changes, words = BAD[name]
    arrays = {"spikes": dense_spikes(), "labels": LABELS, **changes}
    with pytest.raises(DataInvalid, match=words):
        loaded(tmp_path, **{key: value for key, value in arrays.items() if value is not None})


def test_values_out_of_range_name_the_sample(tmp_path: Path) -> None:
    values = np.zeros((9, 6))
    values[4, 2] = 1.5
    with pytest.raises(DataInvalid, match=r"sample 4 has a value outside of \[0, 1\]"):
        loaded(tmp_path, replace(DATA, encoding=LinearLatency()), values=values, labels=LABELS)


def test_a_missing_file_is_named_with_its_hint(tmp_path: Path) -> None:
    with pytest.raises(DataUnavailable, match=r"mine\.npz on this worker: docs/reference/data\.md"):
        loaded(tmp_path)


class TestHostileFiles:
    def test_cut_short_at_any_place(self, tmp_path: Path) -> None:
        loaded(tmp_path, spikes=dense_spikes(), labels=LABELS)
        path = tmp_path / "mine.npz"
        content = path.read_bytes()
        for size in range(0, len(content), 7):
            path.write_bytes(content[:size])
            with pytest.raises(DataInvalid, match=r"is it whole\?"):
                loaded(tmp_path)

    def test_any_byte_wrong_is_an_error_or_nothing(self, tmp_path: Path) -> None:
        """Never another exception: that is what a user would see as a traceback."""
        loaded(tmp_path, spikes=dense_spikes(), labels=LABELS)
        path = tmp_path / "mine.npz"
        content = path.read_bytes()
        random = np.random.RandomState(SEED)
        refused = 0
        for _ in range(300):
            damaged = bytearray(content)
            damaged[random.randint(len(content))] ^= 1 << random.randint(8)
            path.write_bytes(bytes(damaged))
            try:
                loaded(tmp_path)
            except DataInvalid:
                refused += 1
        assert refused > 150, f"seed {SEED}"

    def test_an_array_larger_than_its_file_is_not_allocated(self, tmp_path: Path) -> None:
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            header, {"descr": "|u1", "fortran_order": False, "shape": (2**50, 5, 6)}
        )
        with zipfile.ZipFile(str(tmp_path / "mine.npz"), "w") as archive:
            archive.writestr("spikes.npy", header.getvalue() + bytes(100))
        with pytest.raises(DataInvalid, match=r"its header says uint8 \(1125899906842624, 5, 6\)"):
            loaded(tmp_path)

    def test_a_bomb_is_not_unpacked(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(npz_file, "MAX_BYTES", 10**6)
        spikes = np.zeros((9, 5, 60_000), dtype=bool)
        with pytest.raises(DataInvalid, match=r"unpacks to 2,700,\d+ bytes; at most 1,000,000"):
            loaded(tmp_path, spikes=spikes, labels=LABELS)
        assert (tmp_path / "mine.npz").stat().st_size < 10_000
