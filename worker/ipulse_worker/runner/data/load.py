"""From what a spec says about its data to the data."""

from __future__ import annotations

from ipulse.spec import (
    Data,
    DigitsData,
    DVSGestureData,
    FrozenNoiseData,
    NMNISTData,
    NpzData,
    PoissonData,
    RandmanData,
    SHDData,
    SSCData,
    YinYangData,
)
from ipulse_worker.runner.data import (
    digits,
    dvs_gesture,
    frozen_noise,
    heidelberg,
    n_mnist,
    npz,
    poisson,
    randman,
    yin_yang,
)
from ipulse_worker.runner.data.dataset import Dataset, Progress
from ipulse_worker.runner.data.directory import DataDirectory


def load(data: Data, directory: DataDirectory, progress: Progress) -> Dataset:
    """The same arrays for the same spec and files, on every machine.

    Raises DataUnavailable, with the cure, and whatever `progress` raises.
    """
    if isinstance(data, DigitsData):
        return digits.load(data, progress)
    if isinstance(data, RandmanData):
        return randman.generate(data, progress)
    if isinstance(data, YinYangData):
        return yin_yang.generate(data)
    if isinstance(data, PoissonData):
        return poisson.generate(data, progress)
    if isinstance(data, FrozenNoiseData):
        return frozen_noise.generate(data, progress)
    if isinstance(data, NpzData):
        return npz.load(data, directory, progress)
    if isinstance(data, (SHDData, SSCData)):
        return heidelberg.load(data, directory, progress)
    if isinstance(data, NMNISTData):
        return n_mnist.load(data, directory, progress)
    if isinstance(data, DVSGestureData):
        return dvs_gesture.load(data, directory, progress)
    raise TypeError(f"no loader for {type(data).__name__}")
