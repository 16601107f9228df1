"""Files in the formats of recorded data sets, written by the tests themselves."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import List, Sequence, Tuple

import h5py
import numpy as np

Train = Tuple[Sequence[float], Sequence[int]]  # times and units of one sample


def write_hdf5(path: Path, trains: Sequence[Train], labels: Sequence[int]) -> None:
    """Write a file in the format of the Heidelberg data sets, with float16 seconds."""
    with h5py.File(str(path), "w") as file:
        for column, (name, kind) in enumerate((("times", np.float16), ("units", np.uint16))):
            place = file.create_dataset(
                f"spikes/{name}", (len(trains),), dtype=h5py.vlen_dtype(np.dtype(kind))
            )
            for number, train in enumerate(trains):
                place[number] = np.array(train[column], dtype=kind)
        file["labels"] = np.array(labels, dtype=np.uint16)


def bin_event(x: int, y: int, polarity: int, time_us: int) -> bytes:
    """Five bytes of an N-MNIST file."""
    return bytes([x, y]) + (polarity << 23 | time_us).to_bytes(3, "big")


def write_n_mnist(folder: Path, samples_per_class: int = 1) -> None:
    """Sample s of class c in part p has 3 events, at pixel (c, s) and times 1, 4 and 4 ms."""
    for part in ("Train", "Test"):
        for label in range(10):
            place = folder / part / str(label)
            place.mkdir(parents=True)
            for number in range(samples_per_class):
                events = [
                    bin_event(label, number, 0, 1000),
                    bin_event(label, number, 1, 4000),
                    bin_event(label, number, 1, 4100),
                ]
                (place / f"{number:05}.bin").write_bytes(b"".join(events))


Pixel = Tuple[int, int, int, int]  # x, y, polarity, microseconds


def aedat_packet(
    events: Sequence[Pixel], kind: int = 1, overflow: int = 0, invalid: Sequence[int] = ()
) -> bytes:
    """invalid: numbers of the events that do not count."""
    count = len(events)
    valid = count - len(invalid)
    header = struct.pack("<HHIIIIII", kind, 1, 8, 4, overflow, count, count, valid)
    body = b"".join(
        struct.pack("<II", x << 17 | y << 2 | polarity << 1 | (number not in invalid), time_us)
        for number, (x, y, polarity, time_us) in enumerate(events)
    )
    return header + body


def aedat(packets: List[bytes]) -> bytes:
    return b"".join([b"#!AER-DAT3.1\r\n#Format: RAW\r\n#!END-HEADER\r\n", *packets])


def write_gestures(folder: Path) -> None:
    """One recording to learn from, with gestures 2 and 11, and one to test, with gesture 1."""
    folder.mkdir(parents=True)
    (folder / "trials_to_train.txt").write_text("user01_led.aedat\n")
    (folder / "trials_to_test.txt").write_text("user02_led.aedat\n")
    table = "class,startTime_usec,endTime_usec\n"
    (folder / "user01_led_labels.csv").write_text(table + "2,1000,90000\n11,100000,200000\n")
    (folder / "user02_led_labels.csv").write_text(table + "1,0,50000\n")
    first = aedat_packet([(4, 8, 0, 500), (4, 8, 0, 1000), (5, 8, 0, 1500), (4, 8, 1, 41000)])
    other = aedat_packet([(1, 1, 1, 1)], kind=2)
    second = aedat_packet([(0, 0, 0, 95000), (127, 127, 1, 100000), (0, 0, 0, 200000)])
    (folder / "user01_led.aedat").write_bytes(aedat([first, other, second]))
    (folder / "user02_led.aedat").write_bytes(aedat([aedat_packet([(3, 3, 1, 10)])]))
