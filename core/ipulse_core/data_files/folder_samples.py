"""Samples of the published data sets that consist of a folder."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Iterator, Sequence

import numpy as np

from ipulse_core.data_files.directory import DataDirectory
from ipulse_core.data_files.event_cameras import gesture_files, n_mnist_files
from ipulse_core.data_files.event_cameras.gesture_files import (
    Gesture,
    by_file,
    cut_events,
    gestures_in,
    recorded_events,
)
from ipulse_core.data_files.hdf5_samples import list_blocks
from ipulse_core.data_files.hdf5_structure import check_structure
from ipulse_core.data_files.sample_file import EventBlock, SampleFile
from ipulse_core.data_files.spike_lists import PER_MS, lists_in, opened
from ipulse_core.spec.derived_values import CLASSES, HEIDELBERG_CHANNELS

FILES_AT_ONCE = 64


@contextmanager
def opened_folder_samples(folder: Path, kind: str) -> Iterator[SampleFile]:
    """Open the folder of a data set of this kind, in which the names are right.

    Raises:
        DataUnavailable: something is missing.
        DataInvalid: a file is damaged.
    """
    directory = DataDirectory(folder.parent)
    if kind in ("shd", "ssc"):
        with _heidelberg(folder, kind) as found:
            yield found
    elif kind == "n_mnist":
        yield _n_mnist(directory, folder.name)
    else:
        yield _gestures(directory, folder.name)


@contextmanager
def _heidelberg(folder: Path, kind: str) -> Iterator[SampleFile]:
    parts = [folder / f"{kind}_{part}.h5" for part in ("train", "valid", "test")]
    paths = [path for path in parts if path.exists()]
    with ExitStack() as stack:
        files = [stack.enter_context(opened(path)) for path in paths]
        for file, path in zip(files, paths):
            check_structure(file, path)
        found = [lists_in(file, path, CLASSES[kind]) for file, path in zip(files, paths)]
        sizes = [len(lists.labels) for lists in found]
        is_held_out = [path != parts[0] for path in paths]

        def blocks() -> Iterator[EventBlock]:
            begin = 0
            for lists, path in zip(found, paths):
                yield from list_blocks(path, lists, HEIDELBERG_CHANNELS, begin)
                begin += len(lists.labels)

        yield SampleFile(
            kind=kind,
            form="events",
            labels=np.concatenate([lists.labels for lists in found]).astype(np.int64),
            test=np.repeat(is_held_out, sizes),
            blocks=blocks(),
            values=iter(()),
            per_ms=PER_MS,
            channels=HEIDELBERG_CHANNELS,
            classes=CLASSES[kind],
        )


def _n_mnist(directory: DataDirectory, name: str) -> SampleFile:
    parts = [n_mnist_files.listed(directory, name, part) for part in ("Train", "Test")]
    files = [entry for part in parts for entry in part]
    return SampleFile(
        kind="n_mnist",
        form="events",
        labels=np.array([label for _, label in files], np.int64),
        test=_is_test(parts),
        blocks=_n_mnist_blocks([path for path, _ in files]),
        values=iter(()),
        per_ms=1000.0,
        channels=2 * n_mnist_files.SIDE**2,
        classes=n_mnist_files.CLASSES,
    )


def _n_mnist_blocks(paths: Sequence[Path]) -> Iterator[EventBlock]:
    for first in range(0, len(paths), FILES_AT_ONCE):
        chunk = [n_mnist_files.events(path) for path in paths[first : first + FILES_AT_ONCE]]
        yield EventBlock(
            first + np.repeat(np.arange(len(chunk)), [len(times) for times, _ in chunk]),
            np.concatenate([times for times, _ in chunk]),
            np.concatenate([channels for _, channels in chunk]),
        )


def _gestures(directory: DataDirectory, name: str) -> SampleFile:
    parts = gestures_in(directory, name)
    gestures = [gesture for part in parts for gesture in part]
    return SampleFile(
        kind="dvs_gesture",
        form="events",
        labels=np.array([gesture.label for gesture in gestures], np.int64),
        test=_is_test(parts),
        blocks=_gesture_blocks(gestures),
        values=iter(()),
        per_ms=1000.0,
        channels=2 * gesture_files.SIDE**2,
        classes=gesture_files.CLASSES,
    )


def _gesture_blocks(gestures: Sequence[Gesture]) -> Iterator[EventBlock]:
    begin = 0
    for path, of_path in by_file(gestures):
        if path.suffix == ".aedat":
            for events in recorded_events(path, of_path, pixels_merged=1):
                yield EventBlock(begin + events.gesture, events.time, events.channel)
        else:
            for events in cut_events(path, pixels_merged=1):
                time_us = events.time.astype(np.float64) * 1000.0  # the unit of recordings
                yield EventBlock(begin + events.gesture, time_us, events.channel)
        begin += len(of_path)


def _is_test(parts: Sequence[Sequence[Any]]) -> np.ndarray:
    is_test: np.ndarray = np.repeat([False, True], [len(part) for part in parts])
    return is_test
