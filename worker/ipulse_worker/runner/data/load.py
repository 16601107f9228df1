"""Loads the data set of a spec."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
from ipulse_worker.runner.data.dataset import Dataset, LoadProgress
from ipulse_worker.runner.data.directory import DataDirectory

if TYPE_CHECKING:
    from ipulse.spec import Data


def load(data: Data, directory: DataDirectory, progress: LoadProgress) -> Dataset:
    """Return the data set, which depends only on the spec and its files.

    Raises:
        DataUnavailable: with a hint. Exceptions of `progress` are not caught.
    """
    if data.kind == "digits":
        return digits.load(data, progress)
    if data.kind == "randman":
        return randman.generate(data, progress)
    if data.kind == "yin_yang":
        return yin_yang.generate(data)
    if data.kind == "poisson":
        return poisson.generate(data, progress)
    if data.kind == "frozen_noise":
        return frozen_noise.generate(data, progress)
    if data.kind == "npz":
        return npz.load(data, directory, progress)
    if data.kind == "shd" or data.kind == "ssc":
        return heidelberg.load(data, directory, progress)
    if data.kind == "n_mnist":
        return n_mnist.load(data, directory, progress)
    if data.kind == "dvs_gesture":
        return dvs_gesture.load(data, directory, progress)
    raise TypeError(f"no loader for data of the kind {data.kind}")
