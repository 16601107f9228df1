"""The training problem of every benchmark of the ops. NumPy only: peers read it too.

700 input channels, hidden LIF layers of H neurons (two in every config), a leaky readout of 20
classes. The loss is the cross-entropy of the readout's mean over time. Weights are normal with a
standard deviation of gain / sqrt(N_in rate), where the gains make the hidden layers fire at about
the input's rate.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

INPUTS, CLASSES, DECAY, SLOPE, LEARNING_RATE = 700, 20, 0.95, 10.0, 1e-3


@dataclass(frozen=True)
class Config:
    """Sizes of one benchmark."""

    neurons: int  # of each hidden layer
    steps: int
    batch: int
    rate: float  # input spikes per channel and step
    gains: tuple[float, ...]  # of the weights into each hidden layer

    @property
    def sizes(self) -> tuple[int, ...]:
        """Input channels, neurons of each hidden layer, classes."""
        return (INPUTS, *(self.neurons for _ in self.gains), CLASSES)


CONFIGS = {
    "A": Config(256, 100, 64, 0.02, (5.879, 5.937)),
    "B": Config(1024, 100, 64, 0.02, (5.845, 5.589)),
    "C": Config(1024, 250, 128, 0.05, (10.23, 8.884)),
    "D": Config(4096, 50, 32, 0.01, (4.235, 4.227)),
    # Small, for comparing gradients before anything is timed.
    "S": Config(128, 50, 16, 0.05, (10.776, 9.146)),
}


@dataclass(frozen=True)
class Workload:
    """Input, labels and initial weights of a config."""

    config: Config
    spikes: np.ndarray  # float32 [time, batch, channels] of zeros and ones
    labels: np.ndarray  # int64 [batch]
    weights: tuple[np.ndarray, ...]  # float32 [N_in, N_out] each

    def save(self, path: Path) -> None:
        """Write the file that `load` reads, so that a peer starts from the same bits."""
        weights = {f"weights_{number}": matrix for number, matrix in enumerate(self.weights)}
        np.savez(path, spikes=self.spikes, labels=self.labels, **weights)


def load(path: Path, config: Config) -> Workload:
    """Return the workload that `save` wrote."""
    with np.load(path) as arrays:
        weights = tuple(arrays[f"weights_{number}"] for number in range(len(config.gains) + 1))
        return Workload(config, arrays["spikes"], arrays["labels"], weights)


def draw(config: Config, seed: int = 0) -> Workload:
    """Return the workload of a seed."""
    rng = np.random.default_rng(seed)
    shape = (config.steps, config.batch, INPUTS)
    spikes = (rng.random(shape, dtype=np.float32) < config.rate).astype(np.float32)
    labels = rng.integers(0, CLASSES, config.batch)
    sizes = config.sizes
    weights = tuple(
        rng.standard_normal((n_in, n_out), dtype=np.float32)
        * np.float32(gain / np.sqrt(n_in * config.rate))
        for (n_in, n_out), gain in zip(pairwise(sizes), (*config.gains, 1.0), strict=True)
    )
    return Workload(config, spikes, labels, weights)
