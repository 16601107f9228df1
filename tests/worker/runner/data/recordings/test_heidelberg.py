from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, List

import h5py
import numpy as np
import pytest

from ipulse_core.data_files.directory import DataDirectory
from ipulse_worker.runner.data import Dataset, DataUnavailable
from ipulse_worker.runner.data.dataset import DataInvalid
from ipulse_worker.runner.data.recordings import heidelberg
from tests.worker.runner.data.recorded import write_hdf5
from tests.worker.runner.specs import SHDData, SSCData

DATA = SHDData(steps=8, step_ms=125.0)  # eighths of a second are exact in float16
TRAINING = [
    ([0.0, 0.125, 0.24, 0.875], [699, 3, 3, 0]),
    ([], []),
    ([0.5, 0.5, 0.51, 1.0, 2.5], [7, 7, 7, 8, 9]),  # repetitions, and two that come too late
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "shd").mkdir()
    write_hdf5(tmp_path / "shd" / "shd_train.h5", TRAINING, [19, 0, 4])
    write_hdf5(tmp_path / "shd" / "shd_test.h5", [([0.25], [1])], [2])
    return tmp_path


def loaded(folder: Path, data: Any = DATA) -> Dataset:
    return heidelberg.load(data, DataDirectory(folder), lambda done, samples: None)


@pytest.mark.old_python
def test_bins_every_spike_at_the_floor_of_its_time(folder: Path) -> None:
    dataset = loaded(folder)
    ids, counts = dataset.trains.batch(np.arange(4))
    assert dataset.labels.tolist() == [19, 0, 4, 2]
    assert (dataset.training.tolist(), dataset.test.tolist()) == ([0, 1, 2], [3])
    assert counts[:, 0].tolist() == [1, 1, 0, 0, 0, 0, 0, 1]  # 0.24 s falls on 0.125 s
    assert [ids[step, 0, 0] for step in (0, 1, 7)] == [699, 3, 0]
    assert counts[:, 1].sum() == 0
    assert (ids[4, 2, 0], counts[:, 2].sum()) == (7, 1)
    assert (ids[2, 3, 0], counts[:, 3].sum()) == (1, 1)


def test_counts_what_did_not_become_a_spike(folder: Path) -> None:
    counts = loaded(folder).events
    assert (counts.read, counts.kept, counts.repeated, counts.outside) == (10, 5, 3, 2)


def test_reads_in_chunks_and_reports_progress(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = loaded(folder)
    monkeypatch.setattr(heidelberg, "SAMPLES_AT_ONCE", 2)
    reported: List[Any] = []
    pieces = heidelberg.load(DATA, DataDirectory(folder), lambda *done: reported.append(done))
    assert reported == [(2, 4), (3, 4), (4, 4)]
    np.testing.assert_array_equal(
        pieces.trains.batch(np.arange(4))[0], whole.trains.batch(np.arange(4))[0]
    )


def test_uses_only_some_samples_where_asked(folder: Path) -> None:
    dataset = loaded(folder, replace(DATA, samples=2))
    assert len(dataset.training) == 2
    assert len(dataset.test) == 1
    assert set(dataset.labels[:2]) < {19, 0, 4}


def test_ssc_is_evaluated_on_the_file_that_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "ssc").mkdir()
    for part, label in (("train", 34), ("valid", 1), ("test", 2)):
        write_hdf5(tmp_path / "ssc" / f"ssc_{part}.h5", [([0.1], [5])], [label])
    assert loaded(tmp_path, SSCData()).labels.tolist() == [34, 2]
    assert loaded(tmp_path, SSCData(judged_on="validation")).labels.tolist() == [34, 1]


def test_a_missing_file_is_named_with_its_hint(folder: Path) -> None:
    (folder / "shd" / "shd_test.h5").unlink()
    with pytest.raises(DataUnavailable, match=r"shd/shd_test\.h5 .*HDF5 files there"):
        loaded(folder)


def test_both_files_are_looked_at_before_one_is_read(folder: Path) -> None:
    write_hdf5(folder / "shd" / "shd_test.h5", [([0.25], [1])], [20])
    reported: List[Any] = []
    with pytest.raises(DataInvalid, match=r"shd_test\.h5: sample 0 has the label 20"):
        heidelberg.load(DATA, DataDirectory(folder), lambda *done: reported.append(done))
    assert reported == []


@pytest.mark.parametrize(
    ("train", "label", "words"),
    [
        (([0.1], [700]), 0, "sample 1 has a unit outside of 0 to 699"),
        (([0.1, 0.2], [1]), 0, "sample 1 has 2 times and 1 units"),
        (([float("nan")], [1]), 0, "sample 1 has a time that is no time"),
        (([-0.1], [1]), 0, "sample 1 has a time that is no time"),
        (([0.1], [1]), 20, "sample 1 has the label 20; labels must be 0 to 19"),
    ],
)
def test_a_bad_sample_is_named(folder: Path, train: Any, label: int, words: str) -> None:
    write_hdf5(folder / "shd" / "shd_train.h5", [TRAINING[0], train], [0, label])
    with pytest.raises(DataInvalid, match=words):
        loaded(folder)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
def test_a_truncated_file_is_named(folder: Path, share: float) -> None:
    path = folder / "shd" / "shd_train.h5"
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(DataInvalid, match=r"shd_train\.h5 cannot be read as HDF5; is it whole\?"):
        loaded(folder)


@pytest.mark.old_python
def test_a_damaged_file_is_named(folder: Path) -> None:
    path = folder / "shd" / "shd_train.h5"
    with h5py.File(str(path), "r") as file:
        header = h5py.h5o.get_info(file["labels"].id).addr
    with path.open("r+b") as damaged:
        damaged.seek(header + 16)
        damaged.write(b"\xff" * 16)
    with pytest.raises(DataInvalid, match=r"shd_train\.h5 cannot be read as HDF5; is it whole\?"):
        loaded(folder)


def test_missing_datasets_of_a_file_are_named(folder: Path) -> None:
    with h5py.File(str(folder / "shd" / "shd_train.h5"), "w") as file:
        file["spikes/times"] = np.zeros((2, 3))
        file["labels"] = np.zeros(2, int)
    with pytest.raises(DataInvalid, match="spikes/times must be one list per sample, of floats"):
        loaded(folder)


@pytest.mark.old_python
def test_a_link_into_another_file_is_not_followed(folder: Path, tmp_path: Path) -> None:
    """HDF5 can point to any file of the machine, as a link or as outside storage."""
    write_hdf5(tmp_path / "secret.h5", TRAINING, [0, 0, 0])
    path = folder / "shd" / "shd_train.h5"
    with h5py.File(str(path), "w") as file:
        file["spikes"] = h5py.ExternalLink(str(tmp_path / "secret.h5"), "/spikes")
        file["labels"] = np.zeros(3, int)
    with pytest.raises(DataInvalid, match="no dataset spikes/times of its own"):
        loaded(folder)
    write_hdf5(path, TRAINING, [0, 0, 0])
    with h5py.File(str(path), "r+") as file:
        del file["labels"]
        outside = [(str(tmp_path / "secret.h5"), 0, 24)]
        file.create_dataset("labels", (3,), dtype=np.int64, external=outside)
    with pytest.raises(DataInvalid, match="no dataset labels of its own"):
        loaded(folder)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_time_of_k_steps_is_in_step_k(folder: Path, kind: Any) -> None:
    k = np.arange(1000)
    path = folder / "shd" / "shd_train.h5"
    with h5py.File(str(path), "w") as file:
        for name, row in (
            ("times", (k * 0.001).astype(kind)),
            ("units", (k % 700).astype(np.uint16)),
        ):
            place = file.create_dataset(f"spikes/{name}", (1,), dtype=h5py.vlen_dtype(row.dtype))
            place[0] = row
        file["labels"] = np.array([1], np.uint16)
    assert loaded(folder, SHDData(steps=1000, step_ms=1.0)).trains.counts[0].tolist() == [1] * 1000


def test_float16_times_that_are_farther_apart_than_steps_are_refused(folder: Path) -> None:
    """They are 0.98 ms apart after one second: enough for steps of 1 ms, not of 0.5 ms."""
    write_hdf5(folder / "shd" / "shd_train.h5", [([1.25], [1])], [1])
    assert loaded(folder, SHDData(steps=1400, step_ms=1.0)).events.kept == 2
    with pytest.raises(DataInvalid, match=r"shd_train\.h5: the time 1\.25 .* float32"):
        loaded(folder, SHDData(steps=2800, step_ms=0.5))
    assert loaded(folder, SHDData(steps=2000, step_ms=0.5)).events.outside == 1


class TestDamagedSizes:
    """A few kilobytes that claim to be much: nothing of that size is allocated."""

    def test_of_labels(self, folder: Path) -> None:
        path = folder / "shd" / "shd_train.h5"
        with h5py.File(str(path), "w") as file:
            for name, kind in (("times", np.float16), ("units", np.uint16)):
                vlen = h5py.vlen_dtype(np.dtype(kind))
                file.create_dataset(f"spikes/{name}", (2**33,), dtype=vlen, chunks=(1024,))
            file.create_dataset("labels", (2**33,), dtype=np.uint16, chunks=(1024,))
        assert path.stat().st_size < 20_000
        with pytest.raises(DataInvalid, match=r"8,589,934,592 samples; at most 10,000,000"):
            loaded(folder)

    def test_of_chunks(self, folder: Path) -> None:
        path = folder / "shd" / "shd_train.h5"
        with h5py.File(str(path), "r+") as file:
            del file["labels"]
            labels = file.create_dataset(
                "labels",
                (3,),
                dtype=np.uint16,
                chunks=(2**30,),
                maxshape=(None,),
                compression="gzip",
            )
            assert labels.chunks == (2**30,)
        with pytest.raises(DataInvalid, match="labels has chunks of 2,147,483,648 bytes"):
            loaded(folder)

    @pytest.mark.sample(0)
    def test_of_a_sample(self, folder: Path) -> None:
        """The length of a list of times is damaged."""
        path = folder / "shd" / "shd_train.h5"
        content = bytearray(path.read_bytes())
        with h5py.File(str(path)) as file:
            place = file["spikes/times"].id.get_offset()
        content[place : place + 4] = (2**31).to_bytes(4, "little")
        path.write_bytes(content)
        with pytest.raises(DataInvalid, match=r"shd_train\.h5.* is it whole\?"):
            loaded(folder)
