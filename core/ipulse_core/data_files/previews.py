"""A few samples of a data set, small enough to look at."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

import numpy as np

from ipulse_core.data_files.sample_file import EventBlock, SampleFile

SAMPLES = 64
OF_A_CLASS = 5
EVENTS = 1000  # of a sample; they are thinned evenly
MAX_READ = 200_000  # events of a sample, before they are thinned
VALUES = 4096


class Previews:
    """Collects up to five samples of each class, 64 in all, while a file is read."""

    def __init__(self, file: SampleFile) -> None:
        self._file = file
        self.chosen = chosen_samples(file.labels)
        self._slot = np.full(len(file.labels), -1, np.int64)
        self._slot[self.chosen] = np.arange(len(self.chosen))
        self._blocks: List[List[EventBlock]] = [[] for _ in self.chosen]
        self._read = np.zeros(len(self.chosen), np.int64)
        self._values: List[Optional[np.ndarray]] = [None] * len(self.chosen)

    def add_events(self, block: EventBlock) -> None:
        """Collects the events of chosen samples."""
        slots = self._slot[block.sample]
        for slot in np.unique(slots[slots >= 0]):
            at = np.flatnonzero(slots == slot)[: MAX_READ - self._read[slot]]
            if len(at):
                self._read[slot] += len(at)
                part = EventBlock(block.sample[at], block.time[at], block.channel[at])
                self._blocks[slot].append(part)

    def add_values(self, first: int, rows: np.ndarray) -> None:
        """Collects the values of chosen samples among rows that begin with sample `first`."""
        slots = self._slot[first : first + len(rows)]
        for at in np.flatnonzero(slots >= 0):
            self._values[slots[at]] = np.array(rows[at])

    def to_json(self, counts: np.ndarray) -> List[Dict[str, Any]]:
        """Return the samples; `counts` has the number of events of every sample."""
        return [self._sample(slot, int(counts[number])) for slot, number in enumerate(self.chosen)]

    def _sample(self, slot: int, events: int) -> Dict[str, Any]:
        number = int(self.chosen[slot])
        file = self._file
        time = np.concatenate([np.zeros(0), *(block.time for block in self._blocks[slot])])
        channel = np.concatenate(
            [np.zeros(0, np.int64), *(block.channel for block in self._blocks[slot])]
        )
        order = np.argsort(time, kind="stable")
        shown = order
        if len(order) > EVENTS:
            shown = order[np.linspace(0, len(order) - 1, EVENTS).astype(np.int64)]
        times = time[shown] / (file.per_ms or 1.0)
        values = _thinned(self._values[slot])
        return {
            "sample": number,
            "label": int(file.labels[number]) if file.has_labels else None,
            "is_test": None if file.test is None else bool(file.test[number]),
            "form": file.form,
            "events": events,
            "shown": len(shown),
            "time_unit": "step" if file.per_ms is None else "ms",
            "steps": file.steps,
            "end_ms": None if file.per_ms is None or not len(times) else float(times[-1]),
            "times": [round(float(each), 4) for each in times],
            "event_channels": [int(each) for each in channel[shown]],
            "values": None if values is None else [round(float(v), 5) for v in values.ravel()],
            "shape": None if values is None else list(values.shape),
        }


def chosen_samples(labels: np.ndarray) -> np.ndarray:
    """Return the samples that are shown: the first of every class, then the second, and so on."""
    order = np.argsort(labels, kind="stable")
    sizes = np.unique(labels, return_counts=True)[1]
    rank = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    early = rank < OF_A_CLASS
    chosen = order[early][np.argsort(rank[early], kind="stable")][:SAMPLES]
    found: np.ndarray = np.sort(chosen)
    return found


def _thinned(values: Optional[np.ndarray]) -> Optional[np.ndarray]:
    """Return every so many-th value along each axis, so that they are few enough."""
    stride = 1
    while values is not None and values.size > VALUES:
        stride += 1
        thinned = values[(slice(None, None, stride),) * values.ndim]
        if thinned.size <= VALUES:
            return thinned
    return values
