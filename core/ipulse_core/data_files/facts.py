"""Facts of a data set, found by reading all of it."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

import numpy as np

from ipulse_core.data_files.errors import DataInvalid
from ipulse_core.data_files.previews import Previews
from ipulse_core.data_files.sample_file import MAX_CLASSES, EventBlock, SampleFile
from ipulse_core.limits import MAX_CHANNELS

LABELS = 1000  # with samples counted one by one
_NAMED = 8  # numbers in a warning


def examine(file: SampleFile) -> Tuple[Dict[str, Any], List[Dict[str, Any]]]:
    """Read an open file to its end; return its facts and a few samples.

    Raises:
        DataInvalid: the samples cannot be learned from, or a value is impossible.
    """
    _check_labels(file)
    previews = Previews(file)
    counts = np.zeros(len(file.labels), np.int64)
    channels = file.channels or 0
    has_event = np.zeros(MAX_CHANNELS, bool)
    times: List[float] = []  # the first and the last so far
    time_type = None
    has_counts = False if file.form == "spikes" else None
    for block in file.blocks:
        if not len(block.sample):
            continue
        channels = max(channels, _channels(block, file))
        has_event[block.channel] = True
        counts += np.bincount(block.sample, minlength=len(counts))
        if file.per_ms is not None:
            scale = 1.0 / file.per_ms
            time_type = block.time.dtype.name
            times += [float(block.time.min()) * scale, float(block.time.max()) * scale]
            times = [min(times), max(times)]
        if file.form == "spikes":
            has_counts = has_counts or _has_repeats(block)
        previews.add_events(block)
    first = 0
    for rows in file.values:
        previews.add_values(first, rows)
        first += len(rows)
    if file.form != "values" and not counts.any():
        raise DataInvalid("none of the samples has an event, so there is nothing to learn from")
    classes = (file.classes or int(file.labels.max()) + 1) if file.has_labels else 0
    facts = {
        "form": file.form,
        "samples": len(file.labels),
        "test_samples": None if file.test is None else int(file.test.sum()),
        "channels": channels,
        "classes": classes,
        "outputs": None if file.targets is None else file.targets.shape[-1],
        "target_steps": _target_steps(file),
        "steps": file.steps,
        "first_ms": times[0] if times else None,
        "last_ms": times[1] if times else None,
        "time_type": time_type,
        "has_counts": has_counts,
        "events": int(counts.sum()),
        "events_per_sample": {
            "mean": float(counts.mean()),
            "min": int(counts.min()),
            "max": int(counts.max()),
        },
        "label_counts": _label_counts(file.labels, file.test) if file.has_labels else [],
        "warnings": _warnings(file, classes, has_event[:channels]),
    }
    return facts, previews.to_json(counts)


def _has_repeats(block: EventBlock) -> bool:
    """Return whether two events in a row have the same sample, time and channel."""
    is_same = np.ones(len(block.sample) - 1, bool)
    for values in block:
        is_same &= values[1:] == values[:-1]
    return bool(is_same.any())


def _warnings(file: SampleFile, classes: int, has_event: np.ndarray) -> List[str]:
    """Return sentences about labels and channels that nothing has.

    Published data sets have none: channels at the border of a camera, say, are silent.
    """
    if file.classes:
        return []
    label_exists = np.zeros(classes, bool)
    label_exists[file.labels[: len(file.labels) if classes else 0]] = True
    silent = [("label", np.flatnonzero(~label_exists))]
    if file.form != "values":
        silent.append(("channel", np.flatnonzero(~has_event)))
    named = [_numbered(name, numbers) for name, numbers in silent if len(numbers)]
    if not named:
        return []
    is_one = len(named) == 1 and sum(len(numbers) for _, numbers in silent) == 1
    from_one = [name for name, numbers in silent if list(numbers) == [0]]
    hint = f": {' and '.join(f'{name}s' for name in from_one)} count from 0" if from_one else ""
    return [f"{' and '.join(named)} {'has' if is_one else 'have'} no event{hint}"]


def _numbered(name: str, numbers: np.ndarray) -> str:
    """Return the first of the numbers with their name, such as `channels 0, 3 and 2 more`."""
    listed = ", ".join(f"{number}" for number in numbers[:_NAMED])
    more = f" and {len(numbers) - _NAMED:,} more" if len(numbers) > _NAMED else ""
    return f"{name}{'' if len(numbers) == 1 else 's'} {listed}{more}"


def _target_steps(file: SampleFile) -> Optional[int]:
    """Return the steps that have targets of their own.

    Raises:
        DataInvalid: the file has another number of steps.
    """
    if file.targets is None or file.targets.ndim == 2:
        return None
    steps: int = file.targets.shape[1]
    if file.steps not in (None, steps):
        raise DataInvalid(f"the targets have {steps:,} steps, and the samples {file.steps:,}")
    return steps


def _check_labels(file: SampleFile) -> None:
    labels = file.labels
    if len(labels) < 2:
        raise DataInvalid("there must be at least two samples")
    for at in np.flatnonzero((labels < 0) | (labels >= MAX_CLASSES))[:1]:
        raise DataInvalid(
            f"sample {at:,} has the label {labels[at]}; labels must be 0 to {MAX_CLASSES - 1}"
        )
    if file.test is not None and (file.test.all() or not file.test.any()):
        raise DataInvalid("some samples must be for training, and some for the test")


def _channels(block: EventBlock, file: SampleFile) -> int:
    lowest, highest = int(block.channel.min()), int(block.channel.max())
    limit = file.channels or MAX_CHANNELS
    if lowest < 0 or highest >= limit:
        at = int(np.flatnonzero((block.channel < 0) | (block.channel >= limit))[0])
        raise DataInvalid(
            f"sample {block.sample[at]:,} has an event in channel {block.channel[at]}; channels "
            f"must be 0 to {limit - 1}"
        )
    return highest + 1


def _label_counts(labels: np.ndarray, test: Optional[np.ndarray]) -> List[Dict[str, Any]]:
    values, samples = np.unique(labels, return_counts=True)
    of_test = None if test is None else np.bincount(labels[test], minlength=int(values[-1]) + 1)
    return [
        {
            "label": int(value),
            "samples": int(count),
            "test_samples": None if of_test is None else int(of_test[value]),
        }
        for value, count in list(zip(values, samples))[:LABELS]
    ]
