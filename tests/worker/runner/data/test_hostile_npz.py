"""Files in the npz format that are wrong are refused with their place."""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ipulse_core.data_files import npz_file
from ipulse_worker.runner.data import DataUnavailable
from ipulse_worker.runner.data.dataset import DataInvalid
from tests.worker.runner.data.test_npz import DATA, LABELS, SEED, dense_spikes, loaded
from tests.worker.runner.specs import LinearLatency

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


@pytest.mark.old_python
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

    @pytest.mark.old_python
    def test_an_array_larger_than_its_file_is_not_allocated(self, tmp_path: Path) -> None:
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            header, {"descr": "|u1", "fortran_order": False, "shape": (2**50, 5, 6)}
        )
        with zipfile.ZipFile(str(tmp_path / "mine.npz"), "w") as archive:
            archive.writestr("spikes.npy", header.getvalue() + bytes(100))
        with pytest.raises(DataInvalid, match=r"its header says uint8 \(1125899906842624, 5, 6\)"):
            loaded(tmp_path)

    @pytest.mark.old_python
    def test_a_bomb_is_not_unpacked(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(npz_file, "MAX_BYTES", 10**6)
        spikes = np.zeros((9, 5, 60_000), dtype=bool)
        with pytest.raises(DataInvalid, match=r"unpacks to 2,700,\d+ bytes; at most 1,000,000"):
            loaded(tmp_path, spikes=spikes, labels=LABELS)
        assert (tmp_path / "mine.npz").stat().st_size < 10_000
