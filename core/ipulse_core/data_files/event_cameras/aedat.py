"""AEDAT 3.1, the files of event cameras, read packet by packet.

After header lines that begin with '#' come packets: a header of 28 bytes, then for each event
an address and a time stamp in microseconds, both 32 bits, all little-endian. A pixel's address is,
from the lowest bit on, whether the event is valid, the polarity, 15 bits of y and 15 of x.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import BinaryIO, Iterator, List, NamedTuple

import numpy as np

from ipulse_core.data_files.errors import DataInvalid

VERSION = b"#!AER-DAT3.1"
HEADER = struct.Struct("<HHIIIIII")  # type, source, event size, time offset, overflow, 3 counts
POLARITY = 1  # the type of packets with events of pixels
COMPRESSED = 0x8000  # added to the type
EVENT_BYTES = 8
MAX_LINE = 4096  # bytes of a header line
MAX_EVENTS = 2**23  # of one packet
EVENTS_AT_ONCE = 2**18


class PixelEvents(NamedTuple):
    """Integers `[events]` each."""

    time_us: np.ndarray
    x: np.ndarray
    y: np.ndarray
    polarity: np.ndarray
    offset: np.ndarray  # in the file, in bytes


def pixel_events(path: Path) -> Iterator[PixelEvents]:
    """The pixels' events of a file, those of many packets at a time: most are small.

    Raises DataInvalid, with the offset in bytes, where the file is cut short or no AEDAT 3.1.
    """
    waiting: List[PixelEvents] = []
    number = 0
    for packet in _packets(path):
        waiting.append(packet)
        number += len(packet.time_us)
        if number >= EVENTS_AT_ONCE:
            yield _joined(waiting)
            waiting, number = [], 0
    if waiting:
        yield _joined(waiting)


def _joined(packets: List[PixelEvents]) -> PixelEvents:
    return PixelEvents(*(np.concatenate(parts) for parts in zip(*packets)))


def _packets(path: Path) -> Iterator[PixelEvents]:
    size = path.stat().st_size
    with path.open("rb") as file:
        _skip_lines(file, path)
        while file.tell() < size:
            at = file.tell()
            kind, _, event_bytes, _, overflow, capacity, number, valid = HEADER.unpack(
                _read(file, path, HEADER.size, "a packet's header")
            )
            if capacity > MAX_EVENTS or number > capacity:
                raise DataInvalid(
                    f"{path}: the packet at byte {at:,} says {number:,} events in room for "
                    f"{capacity:,}; at most {MAX_EVENTS:,} are possible"
                )
            if kind & COMPRESSED:
                raise DataInvalid(
                    f"{path}: the packet at byte {at:,} is compressed; only files of "
                    "'#Format: RAW' can be read"
                )
            if kind != POLARITY:
                file.seek(
                    event_bytes * capacity, 1
                )  # an incomplete packet at the end of the file is ignored
                continue
            if event_bytes != EVENT_BYTES:
                raise DataInvalid(
                    f"{path}: the packet at byte {at:,} says {event_bytes} bytes per event; "
                    f"{EVENT_BYTES} are read"
                )
            begin = file.tell()
            content = _read(file, path, capacity * EVENT_BYTES, f"the packet at byte {at:,}")
            yield _decoded(content, number, overflow, begin, all_valid=valid == number)


def _decoded(
    content: bytes, number: int, overflow: int, begin: int, all_valid: bool
) -> PixelEvents:
    words = np.frombuffer(content, dtype="<u4").reshape(-1, 2)[:number]
    offset = begin + EVENT_BYTES * np.arange(len(words))
    if not all_valid:  # the camera's software has invalidated some events
        kept = words[:, 0] & 1 == 1
        words, offset = words[kept], offset[kept]
    address, stamp = words.T
    return PixelEvents(
        time_us=(overflow << 31) + stamp.astype(np.int64),
        x=address >> 17,
        y=address >> 2 & 0x7FFF,
        polarity=address >> 1 & 1,
        offset=offset,
    )


def _skip_lines(file: BinaryIO, path: Path) -> None:
    if not file.readline(MAX_LINE).startswith(VERSION):
        raise DataInvalid(f"{path} does not begin with {VERSION.decode()}, so is no AEDAT 3.1")
    while True:
        begin = file.tell()
        if file.read(1) != b"#":
            file.seek(begin)
            return
        if not file.readline(MAX_LINE).endswith(b"\n"):
            raise DataInvalid(f"{path}: the header line at byte {begin:,} does not end")


def _read(file: BinaryIO, path: Path, size: int, what: str) -> bytes:
    begin = file.tell()
    content = file.read(size)
    if len(content) < size:
        raise DataInvalid(
            f"{path} is cut short: {what} goes from byte {begin:,} to {begin + size:,}, and the "
            f"file ends at {begin + len(content):,}"
        )
    return content
