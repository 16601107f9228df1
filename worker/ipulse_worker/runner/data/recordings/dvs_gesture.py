"""DVS128 Gesture, as published (AEDAT recordings with tables of gestures) or cut into npy files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, List, Sequence, Tuple

import numpy as np

from ipulse_core.data_files.directory import DataDirectory
from ipulse_core.data_files.event_cameras.gesture_files import (
    Gesture,
    by_file,
    cut_events,
    gestures_in,
    recorded_events,
)
from ipulse_worker.runner.data.binning import Binning, binning_of
from ipulse_worker.runner.data.dataset import Dataset, LoadProgress, divided, subset
from ipulse_worker.runner.data.uploaded import file_name

if TYPE_CHECKING:
    from ipulse.spec import DVSGestureData


def load(data: DVSGestureData, directory: DataDirectory, progress: LoadProgress) -> Dataset:
    """The gestures to learn from, then those to test, in the order of the lists or names.

    Raises DataUnavailable where something is missing, DataInvalid where a file is damaged.
    """
    chosen = [
        [part[at] for at in subset(len(part), data.samples, data.subset_seed)]
        for part in gestures_in(directory, file_name(data))
    ]
    gestures = [gesture for part in chosen for gesture in part]
    binning = binning_of(data, data.subset_seed)
    for path, of_path in by_file(gestures):
        if path.suffix == ".aedat":
            _add_recording(path, of_path, data, binning)
        else:
            _add_cut(path, data, binning)
        progress(binning.samples, len(gestures))
    is_test = np.repeat([False, True], [len(part) for part in chosen])
    return divided(binning, np.array([gesture.label for gesture in gestures]), is_test)


def _add_recording(
    path: Path, gestures: Sequence[Gesture], data: DVSGestureData, binning: Binning
) -> None:
    """Read gestures that are in order of time and do not overlap."""
    found: List[Tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    for events in recorded_events(path, gestures, data.pixels_merged):
        # Small types while the recording is read; the binning needs whole samples.
        step = binning.step_of(events.time, path, per_ms=1000.0).astype(np.int32)
        found.append((events.gesture.astype(np.int32), step, events.channel.astype(np.uint16)))
    empty = np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.uint16)
    sample, step, channel = (np.concatenate(parts) for parts in zip(empty, *found))
    binning.add(sample, step, channel, samples=len(gestures))


def _add_cut(path: Path, data: DVSGestureData, binning: Binning) -> None:
    """Read a sample from an array `[events, 4]` of x, y, polarity and time in milliseconds."""
    steps, channels = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for events in cut_events(path, data.pixels_merged):
        steps.append(binning.step_of(events.time, path, is_measured=True))
        channels.append(events.channel)
    step = np.concatenate(steps)
    binning.add(np.zeros(len(step), np.int64), step, np.concatenate(channels), samples=1)
