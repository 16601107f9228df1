"""Events to spike trains: binned, without repetitions, within the input's capacity."""

from __future__ import annotations

from typing import List, Optional, Tuple

import numpy as np

from ipulse_worker.runner.data.event_counts import EventCounts
from ipulse_worker.runner.data.spike_trains import SpikeTrains, index_type
from ipulse_worker.runner.training.randomness import Purpose, stream

MAX_KEY = 2**62  # of sample, step and channel in one integer
PRIORITY_BITS = 53  # of a random number in [0, 1)
PLACES_AT_ONCE = 2 ** (63 - PRIORITY_BITS)


class Binning:
    """Takes samples chunk by chunk and keeps a few bytes per spike.

    capacity: most spikes of a sample in one step, None for as many as there are. Which are kept
    of more is random, and fixed by the seed and the sample's number.
    """

    def __init__(
        self, steps: int, channels: int, capacity: Optional[int] = None, seed: int = 0
    ) -> None:
        self.steps = steps
        self.channels = channels
        self.capacity = capacity
        self.seed = seed
        self.counts = EventCounts()
        self.samples = 0
        self._counts: List[np.ndarray] = []  # [samples, steps] of each chunk
        self._channels: List[np.ndarray] = []

    def add(
        self, sample: np.ndarray, step: np.ndarray, channel: np.ndarray, *, samples: int
    ) -> None:
        """Appends `samples` more samples; integer arrays `[events]`, in any order.

        sample: 0 to samples - 1 within this chunk. A step outside of the steps is counted and
        dropped. Raises ValueError for a sample or a channel that cannot be.
        """
        _check("sample", sample, samples)
        _check("channel", channel, self.channels)
        if samples * self.steps * self.channels > MAX_KEY:
            raise ValueError("too many samples at once")
        on_time = (step >= 0) & (step < self.steps)
        # In four bytes, where they suffice, a key is sorted and divided faster.
        kind = np.int32 if samples * self.steps * self.channels <= 2**31 else np.int64
        place = sample[on_time].astype(kind) * self.steps + step[on_time].astype(kind)
        keys = place * self.channels + channel[on_time].astype(kind)
        # Not by NumPy's `unique`, which hashes in some versions and takes many times as long.
        keys.sort()
        keys = keys[_runs(keys)[0]]
        kept = self._within_capacity(keys)
        place = kept // self.channels
        first, sizes = _runs(place)
        counts = np.zeros(samples * self.steps, index_type(self.channels + 1))
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

    def trains(self) -> SpikeTrains:
        """All that was added."""
        none = np.zeros((0, self.steps), index_type(self.channels + 1))
        return SpikeTrains(
            channels=self.channels,
            counts=np.concatenate([none, *self._counts]),
            spike_channels=np.concatenate(
                [np.zeros(0, index_type(self.channels)), *self._channels]
            ),
        )

    def _within_capacity(self, keys: np.ndarray) -> np.ndarray:
        """Of sorted keys, those that find a slot."""
        if self.capacity is None:
            return keys
        place = keys // self.channels
        first, sizes = _runs(place)
        crowded = np.flatnonzero(sizes > self.capacity)
        if not len(crowded):
            return keys
        priority = np.zeros(len(keys))
        # By the sample's own stream, so that the choice does not depend on the chunks.
        of_samples = place // self.steps
        in_question = of_samples[first[crowded]]
        for number in in_question[_runs(in_question)[0]]:
            begin, end = np.searchsorted(of_samples, [number, number + 1])
            random = stream(Purpose.INPUT_CAPACITY, self.seed, self.samples + int(number))
            priority[begin:end] = random.random_sample(end - begin)
        finds_slot = np.ones(len(keys), dtype=bool)
        for at in range(0, len(crowded), PLACES_AT_ONCE):
            some = crowded[at : at + PLACES_AT_ONCE]
            begins = np.cumsum(sizes[some]) - sizes[some]
            group = np.repeat(np.arange(len(some)), sizes[some])
            spikes = np.arange(len(group)) + (first[some] - begins)[group]
            # Integers that sort by place, then by all bits of the priority: values are sorted
            # faster than indices.
            draws = (priority[spikes] * 2.0**PRIORITY_BITS).astype(np.int64)
            ranked = group << PRIORITY_BITS | draws
            last = np.sort(ranked)[begins + self.capacity - 1]
            finds_slot[spikes] = ranked <= last[group]
        return keys[finds_slot]


def step_of(time: np.ndarray, dt: float) -> np.ndarray:
    """floor(time / dt), int64; what no step can have becomes -1 or 2^31."""
    # Clipped before the cast, as a quotient may be larger than any integer.
    with np.errstate(over="ignore"):
        quotient = np.floor(np.divide(time, dt, dtype=np.float64))
    steps: np.ndarray = np.clip(quotient, -1.0, 2.0**31).astype(np.int64)
    return steps


def _check(name: str, values: np.ndarray, end: int) -> None:
    if len(values) and not (values.min() >= 0 and values.max() < end):
        raise ValueError(f"every {name} must be 0 to {end - 1}")


def _runs(keys: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
    """Of sorted keys, where each run of equals begins and how long it is."""
    begins = np.ones(len(keys), dtype=bool)
    np.not_equal(keys[1:], keys[:-1], out=begins[1:])
    first = np.flatnonzero(begins)
    return first, np.diff(np.append(first, len(keys)))
