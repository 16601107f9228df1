"""Bins events to spike trains, merges or counts repetitions, and limits spikes to the capacity."""

from __future__ import annotations

from typing import TYPE_CHECKING, List, Optional, Tuple

import numpy as np

from ipulse_core.limits import MOST_COUNTED
from ipulse_core.spec.derived_values import input_channels
from ipulse_core.spec.kind_fields import field_of
from ipulse_worker.runner.data.dataset import DataInvalid
from ipulse_worker.runner.data.event_counts import EventCounts
from ipulse_worker.runner.data.spike_trains import SpikeTrains, index_type
from ipulse_worker.runner.data.time_steps import step_of
from ipulse_worker.runner.randomness import Purpose, stream

if TYPE_CHECKING:
    from ipulse.spec import Data

MAX_KEY = 2**62  # greatest integer that combines sample, step and channel
PRIORITY_BITS = 53  # of a random number in [0, 1)
PLACES_AT_ONCE = 2 ** (63 - PRIORITY_BITS)


class Binning:
    """Bins samples chunk by chunk and stores a few bytes per spike.

    `capacity` is the greatest number of spikes of a sample in one step; None means no limit. If
    there are more, a random choice by the seed and the sample's number is kept. `step_ms` is the
    duration of a step. `counts_events` keeps an event of a sample, step and channel that has one
    already: it is one more spike in this step.
    """

    def __init__(
        self,
        steps: int,
        channels: int,
        capacity: Optional[int] = None,
        seed: int = 0,
        step_ms: float = 1.0,
        counts_events: bool = False,
    ) -> None:
        self.steps = steps
        self.channels = channels
        self.capacity = capacity
        self.seed = seed
        self.step_ms = step_ms
        self.counts_events = counts_events
        self.counts = EventCounts()
        self.samples = 0
        self._counts: List[np.ndarray] = []  # [samples, steps] of each chunk
        self._channels: List[np.ndarray] = []

    def add(
        self, sample: np.ndarray, step: np.ndarray, channel: np.ndarray, *, samples: int
    ) -> None:
        """Append samples. Events are integer arrays `[events]`, in any order.

        Args:
            sample: of each event, 0 to samples - 1 within this chunk.
            step: of each event; steps out of range are counted and dropped.
            channel: of each event.
            samples: number of samples in this chunk.

        Raises:
            ValueError: a sample or a channel is out of range.
            DataInvalid: more than MOST_COUNTED events of a sample, step and channel are counted.
        """
        _check("sample", sample, samples)
        _check("channel", channel, self.channels)
        if samples * self.steps * self.channels > MAX_KEY:
            raise ValueError("too many samples at once")
        on_time = (step >= 0) & (step < self.steps)
        # Four-byte keys are sorted and divided faster.
        kind = np.int32 if samples * self.steps * self.channels <= 2**31 else np.int64
        place = sample[on_time].astype(kind) * self.steps + step[on_time].astype(kind)
        keys = place * self.channels + channel[on_time].astype(kind)
        # `numpy.unique` is much slower in some versions.
        keys.sort()
        begins, repetitions = _runs(keys)
        if self.counts_events:
            self._check_counts(keys[begins], repetitions)
        else:
            keys = keys[begins]
        kept = self._within_capacity(keys)
        place = kept // self.channels
        first, sizes = _runs(place)
        most = int(sizes.max(initial=self.channels))
        counts = np.zeros(samples * self.steps, index_type(most + 1))
        counts[place[first]] = sizes
        self._counts.append(counts.reshape(samples, self.steps))
        self._channels.append((kept - place * self.channels).astype(index_type(self.channels)))
        self.samples += samples
        self.counts += EventCounts(
            read=len(step),
            kept=len(kept),
            repeated=int(on_time.sum()) - len(keys),
            outside=len(step) - int(on_time.sum()),
            over_capacity=len(keys) - len(kept),
        )

    def step_of(
        self, time: np.ndarray, place: object, *, per_ms: float = 1.0, is_measured: bool = False
    ) -> np.ndarray:
        """Return the step of each time, see `step_of`, and record the first and the last time.

        Args:
            time: finite times of any integer or floating type.
            place: the file with the times, for the error message.
            per_ms: units of these times in a millisecond, 1000 for microseconds.
            is_measured: float16 times were rounded once.

        Raises:
            DataInvalid: the step of a float16 time cannot be recovered.
        """
        if len(time):
            first_ms, last_ms = float(time.min()) / per_ms, float(time.max()) / per_ms
            self.counts += EventCounts(first_ms=first_ms, last_ms=last_ms)
        try:
            return step_of(time, self.step_ms * per_ms, self.steps, is_measured=is_measured)
        except DataInvalid as error:
            raise DataInvalid(f"{place}: {error.message}") from error

    def trains(self) -> SpikeTrains:
        """Return the spike trains of all samples."""
        none = np.zeros((0, self.steps), index_type(self.channels + 1))
        return SpikeTrains(
            channels=self.channels,
            counts=np.concatenate([none, *self._counts]),
            spike_channels=np.concatenate(
                [np.zeros(0, index_type(self.channels)), *self._channels]
            ),
        )

    def _check_counts(self, keys: np.ndarray, counts: np.ndarray) -> None:
        """Refuse counts that are too large, with the first place that has one."""
        for at in np.flatnonzero(counts > MOST_COUNTED)[:1]:
            place, channel = divmod(int(keys[at]), self.channels)
            sample, step = divmod(place, self.steps)
            raise DataInvalid(
                f"sample {self.samples + sample:,} has {counts[at]:,} events in channel "
                f"{channel:,} at step {step:,}, and data.input counts has at most "
                f"{MOST_COUNTED:,}: choose a shorter data.step_ms"
            )

    def _within_capacity(self, keys: np.ndarray) -> np.ndarray:
        """Return the sorted keys that are within the capacity."""
        if self.capacity is None:
            return keys
        place = keys // self.channels
        first, sizes = _runs(place)
        crowded = np.flatnonzero(sizes > self.capacity)
        if not len(crowded):
            return keys
        priority = np.zeros(len(keys))
        # Each sample has a stream of its own, so that the choice does not depend on the chunks.
        sample_of = place // self.steps
        crowded_samples = sample_of[first[crowded]]
        for number in crowded_samples[_runs(crowded_samples)[0]]:
            begin, end = np.searchsorted(sample_of, [number, number + 1])
            random = stream(Purpose.INPUT_CAPACITY, self.seed, self.samples + int(number))
            priority[begin:end] = random.random_sample(end - begin)
        fits = np.ones(len(keys), dtype=bool)
        for at in range(0, len(crowded), PLACES_AT_ONCE):
            batch = crowded[at : at + PLACES_AT_ONCE]
            begins = np.cumsum(sizes[batch]) - sizes[batch]
            group = np.repeat(np.arange(len(batch)), sizes[batch])
            spikes = np.arange(len(group)) + (first[batch] - begins)[group]
            # Integers that sort by place and then by priority: sorting values is faster than
            # sorting indices.
            draws = (priority[spikes] * 2.0**PRIORITY_BITS).astype(np.int64)
            ranked = group << PRIORITY_BITS | draws
            last = np.sort(ranked)[begins + self.capacity - 1]
            fits[spikes] = ranked <= last[group]
        return keys[fits]


def binning_of(data: Data, seed: int) -> Binning:
    """Returns an empty binning for a data set in files; the seed draws the spikes that are kept."""
    return Binning(
        data.steps,
        input_channels(data),
        field_of(data, "capacity"),
        seed,
        data.step_ms,
        counts_events=field_of(data, "input") == "counts",
    )


def _check(name: str, values: np.ndarray, end: int) -> None:
    if len(values) and not (values.min() >= 0 and values.max() < end):
        raise ValueError(f"every {name} must be 0 to {end - 1}")


def _runs(keys: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
    """Return the start and the length of each run of equal values in sorted keys."""
    begins = np.ones(len(keys), dtype=bool)
    np.not_equal(keys[1:], keys[:-1], out=begins[1:])
    first = np.flatnonzero(begins)
    return first, np.diff(np.append(first, len(keys)))
