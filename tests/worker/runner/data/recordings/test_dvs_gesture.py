from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ipulse_core.data_files.directory import DataDirectory
from ipulse_core.data_files.event_cameras import aedat as aedat_files
from ipulse_core.data_files.event_cameras.aedat import pixel_events
from ipulse_worker.runner.data import Dataset, DataUnavailable
from ipulse_worker.runner.data.dataset import DataInvalid
from ipulse_worker.runner.data.recordings import dvs_gesture
from tests.worker.runner.data.digest import digest
from tests.worker.runner.data.recorded import aedat, aedat_packet, write_gestures
from tests.worker.runner.specs import DVSGestureData

DATA = DVSGestureData(steps=4, step_ms=20.0)  # squares of 4 x 4 pixels: 32 x 32 x 2 channels


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_gestures(tmp_path / "dvs_gesture")
    return tmp_path


@pytest.fixture
def recording(folder: Path) -> Path:
    return folder / "dvs_gesture" / "user01_led.aedat"


@pytest.fixture
def table(folder: Path) -> Path:
    return folder / "dvs_gesture" / "user01_led_labels.csv"


def loaded(folder: Path, data: DVSGestureData = DATA) -> Dataset:
    return dvs_gesture.load(data, DataDirectory(folder), lambda done, samples: None)


class TestRecordings:
    @pytest.mark.old_python
    def test_cuts_gestures_out_of_the_recordings(self, folder: Path) -> None:
        dataset = loaded(folder)
        assert dataset.labels.tolist() == [1, 10, 0]
        assert (dataset.training.tolist(), dataset.test.tolist()) == ([0, 1], [2])
        ids, counts = dataset.trains.batch(np.arange(3))
        # The first gesture: pixels (4, 8) and (5, 8) at its start, (4, 8) of the other
        # polarity 40 ms later.
        assert counts[:, 0].tolist() == [1, 0, 1, 0]
        assert ids[0, 0, 0] == 2 * 32 + 1
        assert ids[2, 0, 0] == (32 + 2) * 32 + 1
        # The second: its begin is part of it, its end is not.
        assert counts[:, 1].tolist() == [1, 0, 0, 0]
        assert ids[0, 1, 0] == 2 * 32 * 32 - 1
        assert (dataset.events.read, dataset.events.repeated) == (5, 1)

    def test_reads_packet_by_packet(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        whole = loaded(folder)
        monkeypatch.setattr(aedat_files, "EVENTS_AT_ONCE", 1)
        assert digest(loaded(folder)) == digest(whole)

    def test_keeps_every_pixel_where_asked(self, folder: Path) -> None:
        dataset = loaded(folder, DVSGestureData(steps=4, step_ms=20.0, pixels_merged=1))
        ids, _ = dataset.trains.batch(np.array([0]))
        assert ids[0, 0, :2].tolist() == [8 * 128 + 4, 8 * 128 + 5]
        assert dataset.trains.channels == 2 * 128 * 128

    def test_a_time_continues_where_its_31_bits_end(self, tmp_path: Path) -> None:
        path = tmp_path / "a.aedat"
        path.write_bytes(aedat([aedat_packet([(1, 2, 1, 7)], overflow=3)]))
        (actual,) = pixel_events(path)
        assert actual.time_us.tolist() == [3 * 2**31 + 7]
        assert (actual.x[0], actual.y[0], actual.polarity[0]) == (1, 2, 1)

    def test_events_that_were_taken_back_do_not_count(self, tmp_path: Path) -> None:
        path = tmp_path / "a.aedat"
        events = [(1, 2, 1, 7), (9999, 3, 0, 8), (3, 4, 0, 9)]
        path.write_bytes(aedat([aedat_packet(events, invalid=[1])]))
        (actual,) = pixel_events(path)
        assert actual.x.tolist() == [1, 3]
        assert actual.offset.tolist() == [42 + 28, 42 + 28 + 16]

    def test_compressed_packets_are_named(self, folder: Path, recording: Path) -> None:
        recording.write_bytes(aedat([aedat_packet([(1, 1, 1, 1)], kind=0x8001)]))
        with pytest.raises(DataInvalid, match=r"the packet at byte 42 is compressed; .*RAW"):
            loaded(folder)

    @pytest.mark.parametrize("missing", [1, 7, 30])
    def test_a_truncated_recording_names_the_place(
        self, folder: Path, recording: Path, missing: int
    ) -> None:
        content = recording.read_bytes()
        recording.write_bytes(content[:-missing])
        size = len(content)
        words = (
            f"is cut short: the packet at byte {size - 52:,} goes from byte {size - 24:,} to "
            f"{size:,}, and the file ends at {size - missing:,}"
        )
        if missing > 24:  # of its header, too
            words = f"is cut short: a packet's header goes from byte {size - 52:,} to"
        with pytest.raises(DataInvalid, match=words):
            loaded(folder)

    def test_a_gesture_beyond_the_recording_is_named(self, folder: Path, recording: Path) -> None:
        recording.write_bytes(recording.read_bytes()[:-52])  # a whole packet is missing
        with pytest.raises(DataInvalid, match="no event from 100000 to 200000 us"):
            loaded(folder)

    def test_a_file_that_is_not_aedat_is_refused(self, folder: Path, recording: Path) -> None:
        recording.write_bytes(b"#!AER-DAT2.0\r\n" + bytes(100))
        with pytest.raises(DataInvalid, match=r"is no AEDAT 3\.1"):
            loaded(folder)

    def test_an_impossible_packet_size_names_the_place(self, folder: Path, recording: Path) -> None:
        packet = bytearray(aedat_packet([(1, 1, 1, 1)]))
        packet[16:20] = b"\xff\xff\xff\xff"
        recording.write_bytes(aedat([bytes(packet)]))
        with pytest.raises(DataInvalid, match=r"the packet at byte 42 says .* 4,294,967,295"):
            loaded(folder)

    def test_an_impossible_pixel_names_the_place(self, folder: Path, recording: Path) -> None:
        # 2^13 next to 128: addresses have 15 bits.
        for x in (128, 8192):
            recording.write_bytes(aedat([aedat_packet([(0, 0, 0, 1), (x, 3, 0, 2)])]))
            with pytest.raises(DataInvalid, match=rf"event at byte 78 is at pixel \({x}, 3\)"):
                loaded(folder)

    @pytest.mark.parametrize(
        ("row", "words"),
        [
            ("12,1,2", "line 2: no gesture 12"),
            ("1,5,5", "line 2: no gesture 1 from 5 to 5"),
            ("1,2", "line 2: must be class,start,end"),
            ("1,x,2", "line 2: must be class,start,end"),
            ("1,0,9\n2,8,20", "overlap"),
        ],
    )
    def test_an_invalid_table_names_the_line(
        self, folder: Path, table: Path, row: str, words: str
    ) -> None:
        table.write_text(f"class,startTime_usec,endTime_usec\n{row}\n")
        with pytest.raises(DataInvalid, match=words):
            loaded(folder)

    def test_a_recording_listed_twice_is_named(self, folder: Path) -> None:
        (folder / "dvs_gesture" / "trials_to_train.txt").write_text(
            "user01_led.aedat\nuser02_led.aedat\nuser01_led.aedat\n"
        )
        words = r"trials_to_train\.txt names user01_led\.aedat twice, as entries 1 and 3"
        with pytest.raises(DataInvalid, match=words):
            loaded(folder)

    def test_lists_may_have_comments(self, folder: Path) -> None:
        plain = digest(loaded(folder))
        listed = folder / "dvs_gesture" / "trials_to_train.txt"
        names = listed.read_text().split()
        listed.write_text("# for training\n" + "".join(f"{name}  # indoors\n" for name in names))
        assert digest(loaded(folder)) == plain

    def test_a_recording_in_both_lists_is_named(self, folder: Path) -> None:
        (folder / "dvs_gesture" / "trials_to_test.txt").write_text("user01_led.aedat\n")
        words = r"user01_led\.aedat is in trials_to_train\.txt and in trials_to_test\.txt"
        with pytest.raises(DataInvalid, match=words):
            loaded(folder)

    def test_a_list_cannot_lead_out_of_the_folder(self, folder: Path) -> None:
        (folder / "dvs_gesture" / "trials_to_test.txt").write_text("../../secret.aedat")
        with pytest.raises(DataUnavailable, match="not the plain name of a file"):
            loaded(folder)


def test_a_folder_of_neither_kind_lists_the_expected_files(tmp_path: Path) -> None:
    (tmp_path / "dvs_gesture").mkdir()
    with pytest.raises(DataUnavailable, match=r"either the published recordings .* or the cut"):
        loaded(tmp_path)
