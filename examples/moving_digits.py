"""Write moving_digits.npz: scanned digits before a moving event camera, in N-MNIST's shape.

    python examples/moving_digits.py DIR

Each of scikit-learn's 1,797 digits, three times as large, moves along a triangle on 34 x 34 pixels.
A pixel sends an event where its brightness rises (channels 0 to 1,155) or falls (1,156 to 2,311),
and sometimes without a reason. examples/moving_digits.yaml trains a convolutional network on it.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

SIDE, STEPS, ZOOM = 34, 30, 3
CONTRAST = 0.2  # a smaller change of brightness gives no event
NOISE = 0.001  # events without a reason, per pixel and step
SEED = 1


def events_of(image: np.ndarray, random: np.random.RandomState) -> np.ndarray:
    """Return bool `[steps, 2, side, side]`: events of one image `[8, 8]` in [0, 1]."""
    large = np.kron(image, np.ones((ZOOM, ZOOM)))
    free = SIDE - len(large)
    corners = np.array([[0, 0.5], [1, 0], [1, 1], [0, 0.5]]) * (free - 2)
    start = random.randint(0, 3, 2)
    places = [
        np.rint(start + (1 - t % 1) * corners[int(t)] + t % 1 * corners[int(t) + 1]).astype(int)
        for t in np.linspace(0, 2.999, STEPS + 1)
    ]
    frames = np.zeros((STEPS + 1, SIDE, SIDE))
    for frame, (y, x) in zip(frames, places):
        frame[y : y + len(large), x : x + len(large)] = large
    change = np.diff(frames, axis=0)
    events = np.stack([change > CONTRAST, change < -CONTRAST], axis=1)
    return np.asarray(events | (random.random_sample(events.shape) < NOISE))


def write(directory: Path) -> Path:
    """Write moving_digits.npz to a directory and return its path."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    random = np.random.RandomState(SEED)
    samples, times, channels = [], [], []
    for number, image in enumerate(digits.images / 16):
        step, channel = np.nonzero(events_of(image, random).reshape(STEPS, -1))
        samples.append(np.full(len(step), number, np.int32))
        times.append(step.astype(np.float32))
        channels.append(channel.astype(np.int32))
    path = directory / "moving_digits.npz"
    np.savez_compressed(
        path,
        event_samples=np.concatenate(samples),
        event_times_ms=np.concatenate(times),
        event_channels=np.concatenate(channels),
        labels=digits.target,
    )
    return path


if __name__ == "__main__":
    sys.stdout.write(f"{write(Path(sys.argv[1]))}\n")
