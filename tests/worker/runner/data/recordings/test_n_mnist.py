from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ipulse_core.data_files.directory import DataDirectory
from ipulse_core.data_files.event_cameras import n_mnist_files
from ipulse_worker.runner.data import Dataset, DataUnavailable
from ipulse_worker.runner.data.dataset import DataInvalid
from ipulse_worker.runner.data.recordings import n_mnist
from tests.worker.runner.data.recorded import bin_event, write_n_mnist
from tests.worker.runner.specs import NMNISTData

DATA = NMNISTData(steps=5, step_ms=2.0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_n_mnist(tmp_path / "n_mnist", samples_per_class=2)
    return tmp_path


def loaded(folder: Path, data: NMNISTData = DATA) -> Dataset:
    return n_mnist.load(data, DataDirectory(folder), lambda done, samples: None)


@pytest.mark.old_python
def test_reads_every_sample_of_both_parts(folder: Path) -> None:
    dataset = loaded(folder)
    assert dataset.labels.tolist() == 2 * sorted(2 * list(range(10)))
    assert dataset.training.tolist() == list(range(20))
    assert dataset.test.tolist() == list(range(20, 40))
    ids, counts = dataset.trains.batch(np.arange(40))
    assert (counts == np.array([1, 0, 1, 0, 0])[:, None]).all()  # at 1 ms, and twice at 4 ms
    sample = 7  # the second of class 3: pixel (3, 1)
    assert ids[0, sample, 0] == 1 * 34 + 3
    assert ids[2, sample, 0] == (34 + 1) * 34 + 3  # the other polarity
    assert (dataset.events.read, dataset.events.repeated) == (120, 40)


def test_chunks_change_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = loaded(folder).trains.batch(np.arange(40))
    monkeypatch.setattr(n_mnist, "FILES_AT_ONCE", 3)
    for one, other in zip(loaded(folder).trains.batch(np.arange(40)), whole):
        np.testing.assert_array_equal(one, other)


def test_an_overflow_moves_the_times_after_it_and_is_no_event(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(
        bin_event(1, 2, 0, 100)
        + bin_event(0, 240, 0, 0)
        + bin_event(1, 2, 1, 5)
        + bin_event(0, 240, 0, 0)
        + bin_event(33, 33, 1, 2**23 - 1)
    )
    time_us, channel = n_mnist_files.events(path)
    assert time_us.tolist() == [100, 8192 + 5, 2 * 8192 + 2**23 - 1]
    assert channel.tolist() == [2 * 34 + 1, (34 + 2) * 34 + 1, 2 * 34 * 34 - 1]


def test_uses_only_some_samples_where_asked(folder: Path) -> None:
    dataset = loaded(folder, NMNISTData(steps=5, step_ms=2.0, samples=6))
    assert (len(dataset.training), len(dataset.test)) == (6, 6)


def test_a_truncated_file_names_the_place(folder: Path) -> None:
    path = folder / "n_mnist" / "Test" / "9" / "00001.bin"
    path.write_bytes(path.read_bytes()[:-2])
    with pytest.raises(DataInvalid, match=r"9/00001\.bin is cut short: at byte 10 begins"):
        loaded(folder)


def test_an_empty_file_is_named(folder: Path) -> None:
    path = folder / "n_mnist" / "Test" / "3" / "00000.bin"
    path.write_bytes(b"")
    with pytest.raises(DataInvalid, match=rf"{path} is empty \(0 bytes\)"):
        loaded(folder)


def test_companion_files_of_macos_are_ignored(folder: Path) -> None:
    before = loaded(folder)
    for name in ("._00000.bin", ".DS_Store"):
        (folder / "n_mnist" / "Train" / "3" / name).write_bytes(b"\0\5\x16\7")
    after = loaded(folder)
    assert after.events == before.events
    assert after.labels.tolist() == before.labels.tolist()


def test_an_impossible_pixel_names_the_place(folder: Path) -> None:
    path = folder / "n_mnist" / "Train" / "0" / "00000.bin"
    path.write_bytes(bin_event(1, 1, 0, 0) + bin_event(34, 2, 0, 0))
    with pytest.raises(DataInvalid, match=r"the event at byte 5 is at pixel \(34, 2\)"):
        loaded(folder)


def test_a_file_that_is_no_sample_is_not_read_into_memory(folder: Path) -> None:
    path = folder / "n_mnist" / "Train" / "0" / "00000.bin"
    with path.open("wb") as file:
        file.truncate(2**40)  # sparse: takes no space, until someone reads it
    with pytest.raises(DataInvalid, match="has 1,099,511,627,776 bytes"):
        loaded(folder)


def test_a_missing_folder_is_named_with_its_hint(folder: Path) -> None:
    place = folder / "n_mnist" / "Train" / "4"
    for path in place.iterdir():
        path.unlink()
    place.rmdir()
    with pytest.raises(DataUnavailable, match=r"n_mnist/Train/4 .* folders Train and Test there"):
        loaded(folder)
