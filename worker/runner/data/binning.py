"""Events to spike trains: binned, without repetitions, within the input's capacity."""

from __future__ import annotations

from typing import List, Optional

import numpy as np

from worker.runner.randomness import Purpose, stream

from .event_counts import EventCounts
from .spike_trains import SpikeTrains, index_type, ranks

MAX_KEY = 2**62  # of sample, step and channel in one integer


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
        self._slots = 1
        self._lengths: List[np.ndarray] = []
        self._steps: List[np.ndarray] = []
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
        place = sample[on_time].astype(np.int64) * self.steps + step[on_time].astype(np.int64)
        keys = np.unique(place * self.channels + channel[on_time])
        binned = len(keys)
        if binned:
            keys = self._within_capacity(keys)
            self._slots = max(self._slots, int(ranks(keys // self.channels)[2].max()))
        place, channel = np.divmod(keys, self.channels)
        sample, kept_step = np.divmod(place, self.steps)
        self._lengths.append(np.bincount(sample, minlength=samples))
        self._steps.append(kept_step.astype(index_type(self.steps)))
        self._channels.append(channel.astype(index_type(self.channels)))
        self.samples += samples
        self.counts += EventCounts(
            read=len(step),
            kept=len(keys),
            repeated=int(on_time.sum()) - binned,
            outside=len(step) - int(on_time.sum()),
            over_capacity=binned - len(keys),
        )

    def trains(self) -> SpikeTrains:
        """All that was added."""
        lengths = np.concatenate([np.zeros(1, np.int64), *self._lengths])
        return SpikeTrains(
            steps=self.steps,
            channels=self.channels,
            spike_steps=np.concatenate([np.zeros(0, index_type(self.steps)), *self._steps]),
            spike_channels=np.concatenate(
                [np.zeros(0, index_type(self.channels)), *self._channels]
            ),
            offsets=np.cumsum(lengths),
            slots=self._slots,
        )

    def _within_capacity(self, keys: np.ndarray) -> np.ndarray:
        """Of sorted keys, those that find a slot."""
        if self.capacity is None:
            return keys
        _, _, sizes = ranks(keys // self.channels)
        crowded = np.repeat(sizes > self.capacity, sizes)
        if not crowded.any():
            return keys
        priority = np.zeros(len(keys))
        sample = keys // (self.channels * self.steps)
        # By the sample's own stream, so that the choice does not depend on the chunks.
        for number in np.unique(sample[crowded]):
            first, end = np.searchsorted(sample, [number, number + 1])
            random = stream(Purpose.INPUT_CAPACITY, self.seed, self.samples + int(number))
            priority[first:end] = random.random_sample(end - first)
        order = np.lexsort((priority, keys // self.channels))
        rank = np.empty(len(keys), dtype=np.int64)
        rank[order] = ranks(keys[order] // self.channels)[0]
        return keys[rank < self.capacity]


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
