"""The common form of all files with samples: labels, and events in blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Iterator, NamedTuple, Optional

import numpy as np

MAX_SAMPLES = 10_000_000  # of a file; data.samples allows as many
MAX_CLASSES = 65_536


class EventBlock(NamedTuple):
    """Events of some samples, arrays `[events]`."""

    sample: np.ndarray  # 0 to samples - 1 of the whole file
    time: np.ndarray  # of any numeric type, in the file's unit
    channel: np.ndarray  # integers


@dataclass(frozen=True)
class SampleFile:
    """The samples of an open file.

    The file is read while `blocks` and `values` are iterated, each of them once.
    """

    kind: str  # `data.kind` of the specs that may use it
    form: str  # spikes, ids, events or values
    labels: np.ndarray  # int64 [samples]
    test: Optional[np.ndarray]  # bool [samples]; None: the file defines no test set
    blocks: Iterator[EventBlock]
    values: Iterator[np.ndarray]  # rows of samples, of the form `values` only
    per_ms: Optional[float] = 1.0  # units of a time in a millisecond; None: times are steps
    steps: Optional[int] = None  # where the file itself has steps
    channels: Optional[int] = None  # where the format defines them
    classes: Optional[int] = None  # where the format defines them
    targets: Optional[np.ndarray] = None  # float32 [samples, outputs] or [samples, steps, outputs]
    has_labels: bool = True  # False: there are only targets, and all labels are 0
