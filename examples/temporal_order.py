"""Write temporal_order.npz: three sounds, one after the other; their order is the class.

    python examples/temporal_order.py DIR

Each sound is a volley on eight channels of its own. The first one begins at a random step, the next
ones follow about 20 steps after another, which is longer than a membrane with a decay of 0.8
remembers. Every sample has each sound once, so only the order tells the six classes apart.
examples/temporal_order.yaml learns it with delays.
"""

from __future__ import annotations

import sys
from itertools import permutations
from pathlib import Path

import numpy as np

SOUNDS, UNITS = 3, 8  # sounds, and channels of each
PAUSE, FIRST = 20, 20  # steps between two sounds; the first one begins before this step
JITTER = 1  # of each spike, in steps
RELIABILITY = 0.8  # the probability that a channel spikes at its sound
NOISE = 0.002  # spikes without a sound, per channel and step
STEPS, SAMPLES_OF_CLASS = 90, 200
SEED = 2  # the sizes of the network were chosen on samples of seed 1


def spikes_of(order: tuple[int, ...], random: np.random.RandomState) -> np.ndarray:
    """Return bool `[steps, channels]`: one sample with the sounds in an order."""
    spikes = random.random_sample((STEPS, SOUNDS * UNITS)) < NOISE
    start = random.randint(JITTER, FIRST)
    for place, sound in enumerate(order):
        channels = sound * UNITS + np.flatnonzero(random.random_sample(UNITS) < RELIABILITY)
        jitter = random.randint(-JITTER, JITTER + 1, len(channels))
        spikes[start + place * PAUSE + jitter, channels] = True
    return spikes


def write(directory: Path) -> Path:
    """Write temporal_order.npz to a directory and return its path."""
    orders = list(permutations(range(SOUNDS)))
    labels = np.repeat(np.arange(len(orders)), SAMPLES_OF_CLASS)
    random = np.random.RandomState(SEED)
    spikes = np.array([spikes_of(orders[label], random) for label in labels])
    samples, steps, channels = np.nonzero(spikes)
    path = directory / "temporal_order.npz"
    np.savez_compressed(
        path,
        event_samples=samples.astype(np.int32),
        event_times_ms=steps.astype(np.float32),
        event_channels=channels.astype(np.int32),
        labels=labels,
    )
    return path


if __name__ == "__main__":
    sys.stdout.write(f"{write(Path(sys.argv[1]))}\n")
