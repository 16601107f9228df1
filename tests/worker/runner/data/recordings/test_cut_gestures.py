"""DVS128 Gesture, cut into samples by others."""

from __future__ import annotations

from pathlib import Path
from typing import List

import numpy as np
import pytest

from ipulse_core.data_files.event_cameras import gesture_files
from ipulse_worker.runner.data.dataset import DataInvalid
from tests.worker.runner.data.digest import digest
from tests.worker.runner.data.recordings.test_dvs_gesture import loaded
from tests.worker.runner.specs import DVSGestureData


def _sample(cut: Path) -> Path:
    return cut / "dvs_gesture" / "ibmGestureTrain" / "user01_led" / "0.npy"


class TestCutSamples:
    @pytest.fixture
    def cut(self, tmp_path: Path) -> Path:
        for part, recording in (
            ("ibmGestureTrain", "user01_led"),
            ("ibmGestureTest", "user24_led"),
        ):
            (tmp_path / "dvs_gesture" / part / recording).mkdir(parents=True)
            for label in (0, 10):
                rows = np.array([[label, 0, 0, 0], [label, 5, 1, 45], [1, 1, 1, 4000]])
                name = tmp_path / "dvs_gesture" / part / recording / f"{label}.npy"
                np.save(str(name), rows.astype(np.float64))
        return tmp_path

    @pytest.mark.old_python
    def test_reads_each_as_a_sample(self, cut: Path) -> None:
        dataset = loaded(cut)
        assert dataset.labels.tolist() == [0, 10, 0, 10]
        assert dataset.test.tolist() == [2, 3]
        ids, counts = dataset.trains.batch(np.array([1]))
        assert counts[:, 0].tolist() == [1, 0, 1, 0]
        assert (ids[0, 0, 0], ids[2, 0, 0]) == (2, (32 + 1) * 32 + 2)
        assert dataset.events.outside == 4

    def test_reads_in_pieces(self, cut: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        whole = loaded(cut).trains.batch(np.arange(4))
        monkeypatch.setattr(gesture_files, "ROWS_AT_ONCE", 2)
        for one, other in zip(loaded(cut).trains.batch(np.arange(4)), whole):
            np.testing.assert_array_equal(one, other)

    def test_a_recording_in_both_folders_is_named(self, cut: Path) -> None:
        test = cut / "dvs_gesture" / "ibmGestureTest"
        (test / "user24_led").rename(test / "user01_led")
        words = "user01_led is in ibmGestureTrain and in ibmGestureTest"
        with pytest.raises(DataInvalid, match=words):
            loaded(cut)

    def test_a_truncated_sample_is_named(self, cut: Path) -> None:
        path = cut / "dvs_gesture" / "ibmGestureTrain" / "user01_led" / "0.npy"
        path.write_bytes(path.read_bytes()[:-8])
        with pytest.raises(DataInvalid, match=r"0\.npy cannot be read as npy; is it whole\?"):
            loaded(cut)

    @pytest.mark.old_python
    def test_a_pickle_is_not_opened(self, cut: Path) -> None:
        path = cut / "dvs_gesture" / "ibmGestureTrain" / "user01_led" / "0.npy"
        np.save(str(path), np.array([{"a": 1}], dtype=object), allow_pickle=True)
        with pytest.raises(DataInvalid, match="cannot be read as npy"):
            loaded(cut)

    @pytest.mark.parametrize(
        ("row", "words"),
        [
            ([200, 0, 0, 0], r"the event at event 1 is at pixel \(200, 0\)"),
            ([0, 0, 2, 0], "with polarity 2"),
            ([0, 0, 0, float("inf")], "event 1 has a time that is no time"),
        ],
    )
    def test_an_invalid_event_is_named(self, cut: Path, row: List[float], words: str) -> None:
        path = cut / "dvs_gesture" / "ibmGestureTrain" / "user01_led" / "0.npy"
        np.save(str(path), np.array([[0, 0, 0, 0], row], dtype=np.float64))
        with pytest.raises(DataInvalid, match=words):
            loaded(cut)

    def test_times_keep_their_own_type(self, cut: Path) -> None:
        """Float32 times at k * 0.1 ms would be one step early as float64."""
        k = np.arange(600)
        rows = np.stack([k % 128, k // 128, k % 2, k * 0.1], axis=1).astype(np.float32)
        np.save(str(_sample(cut)), rows)
        dataset = loaded(cut, DVSGestureData(steps=600, step_ms=0.1, pixels_merged=1))
        counts = dataset.trains.counts[0]
        assert counts.tolist() == [1] * 600

    def test_a_sample_without_events_is_named(self, cut: Path) -> None:
        np.save(str(_sample(cut)), np.zeros((0, 4)))
        with pytest.raises(DataInvalid, match="has no events"):
            loaded(cut)

    def test_companion_files_of_macos_are_ignored(self, cut: Path) -> None:
        before = digest(loaded(cut))
        sample = _sample(cut)
        (sample.parent / f"._{sample.name}").write_bytes(b"\0\5\x16\7")
        (sample.parent / ".DS_Store").write_bytes(b"\0\0\0\1Bud1")
        (sample.parents[1] / ".DS_Store").write_bytes(b"\0\0\0\1Bud1")
        assert digest(loaded(cut)) == before

    def test_another_class_is_refused(self, cut: Path) -> None:
        folder = cut / "dvs_gesture" / "ibmGestureTest" / "user24_led"
        (folder / "0.npy").rename(folder / "11.npy")
        with pytest.raises(DataInvalid, match="the name must be the class, 0 to 10"):
            loaded(cut)
