"""Changes the input events of training samples, from streams by sample and epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional, Tuple

import numpy as np

from ipulse_core.spec.derived_values import image_of
from ipulse_worker.runner.data.spike_trains import SpikeTrains, index_type
from ipulse_worker.runner.data.time_steps import step_of
from ipulse_worker.runner.randomness import Purpose

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec

Spikes = Tuple[np.ndarray, np.ndarray]


class Augmentation:
    """Makes the batches of a training with training.augmentation.

    A sample's changes depend on the seed, the epoch and the sample alone. Events that leave the
    time or the image are lost, two of a channel in one step are one spike, and where a step would
    have more spikes than any step of the data set, the rest, drawn at random, is dropped.
    """

    def __init__(self, spec: ExperimentSpec, trains: SpikeTrains) -> None:
        settings = spec.training.augmentation
        assert settings is not None  # noqa: S101 - the caller asks only then
        self._settings = settings
        self._trains = trains
        self._seed = spec.seed
        self._jitter = settings.jitter_ms / spec.data.step_ms
        self._shift = int(step_of(np.array(settings.shift_ms), spec.data.step_ms))
        self._image = image_of(spec.data)
        self.dropped = 0  # spikes beyond the slots

    def batch(self, samples: np.ndarray, epoch: int) -> Spikes:
        """Return changed spikes of the samples in an epoch, as SpikeTrains.batch."""
        trains = self._trains
        ids = np.zeros((trains.steps, len(samples), trains.slots), index_type(trains.channels))
        counts = np.zeros((trains.steps, len(samples)), np.int32)
        for place, sample in enumerate(samples):
            steps, channels = self._changed(int(sample), epoch)
            number = np.bincount(steps, minlength=trains.steps)
            slot = np.arange(len(steps)) - np.repeat(np.cumsum(number) - number, number)
            ids[steps, place, slot] = channels
            counts[:, place] = number
        return ids, counts

    def _changed(self, sample: int, epoch: int) -> Spikes:
        """Return steps and channels of a sample's spikes, sorted."""
        trains, settings = self._trains, self._settings
        random = _stream(self._seed, epoch, sample)
        events = slice(trains.offsets[sample], trains.offsets[sample + 1])
        channels = trains.spike_channels[events].astype(np.int64)
        steps = np.repeat(np.arange(trains.steps), trains.counts[sample])
        kept = np.ones(len(steps), bool)
        if settings.drop:
            kept &= random.random_sample(len(steps)) >= settings.drop
        if self._jitter:
            moved = random.standard_normal(len(steps)) * self._jitter
            steps = steps + np.rint(np.clip(moved, -1e9, 1e9)).astype(np.int64)
        if self._shift:
            steps = steps + random.randint(-self._shift, self._shift + 1)
        if self._image is not None and (settings.flip or settings.crop_pixels):
            channels, inside = self._on_image(channels, random)
            kept &= inside
        kept &= (steps >= 0) & (steps < trains.steps)
        spikes = np.unique(steps[kept] * trains.channels + channels[kept])
        spikes = self._fitting(spikes, random)
        return spikes // trains.channels, spikes % trains.channels

    def _on_image(self, channels: np.ndarray, random: np.random.RandomState) -> Spikes:
        """Return the channels after flips and moves, and which are still on the image."""
        assert self._image is not None  # noqa: S101
        height, width = self._image
        plane, place = np.divmod(channels, height * width)
        y, x = np.divmod(place, width)
        if self._settings.flip and random.random_sample() < 0.5:
            x = width - 1 - x
        most = self._settings.crop_pixels
        if most:
            down, right = random.randint(-most, most + 1, 2)
            y, x = y + down, x + right
        inside = (y >= 0) & (y < height) & (x >= 0) & (x < width)
        return (plane * height + y) * width + x, inside

    def _fitting(self, spikes: np.ndarray, random: np.random.RandomState) -> np.ndarray:
        """Drop spikes beyond the slots of their step."""
        trains = self._trains
        steps = spikes // trains.channels
        if not len(steps) or np.bincount(steps).max() <= trains.slots:
            return spikes
        # In each step the first ones of a random order stay.
        order = np.lexsort((random.random_sample(len(spikes)), steps))
        number = np.bincount(steps, minlength=trains.steps)
        rank = np.arange(len(spikes)) - np.repeat(np.cumsum(number) - number, number)
        kept = order[rank < trains.slots]
        self.dropped += len(spikes) - len(kept)
        return np.sort(spikes[kept])


def augmentation_of(spec: ExperimentSpec, trains: SpikeTrains) -> Optional[Augmentation]:
    """Return the augmentation of a training, None without one."""
    return None if spec.training.augmentation is None else Augmentation(spec, trains)


def _stream(seed: int, epoch: int, sample: int) -> np.random.RandomState:
    """Return the stream of a sample in an epoch; Philox, because it is made in microseconds."""
    key = np.array([seed % 2**64, (epoch << 32) + sample], np.uint64)
    counter = np.array([0, 0, 0, int(Purpose.AUGMENTATION)], np.uint64)
    return np.random.RandomState(np.random.Philox(key=key, counter=counter))
