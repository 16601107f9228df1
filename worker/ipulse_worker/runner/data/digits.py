"""The scanned digits of scikit-learn as spikes.

The package of scikit-learn contains the images, so nothing is downloaded.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Tuple

import numpy as np

from ipulse_core.data_files.errors import LibraryMissing
from ipulse_core.spec.derived_values import input_channels
from ipulse_worker.runner.data.binning import Binning
from ipulse_worker.runner.data.dataset import (
    Dataset,
    LoadProgress,
    divided,
    hold_out,
    subset,
)
from ipulse_worker.runner.data.encoding import encode
from ipulse_worker.runner.data.shifts import shifted_copies
from ipulse_worker.runner.data.validation import validation_part

if TYPE_CHECKING:
    from ipulse.spec import DigitsData

BRIGHTEST = 16.0  # greatest value of a pixel in scikit-learn
SAMPLES_AT_ONCE = 256


def load(data: DigitsData, progress: LoadProgress) -> Dataset:
    """Return the data set, which is equal on every machine.

    Raises:
        LibraryMissing: scikit-learn cannot be imported. Exceptions of `progress` are not caught.
        DataInvalid: a class would have no sample to validate or none to train.
    """
    images, labels = scans()
    chosen = subset(len(labels), data.samples, data.split_seed)
    images, labels = images[chosen], labels[chosen]
    held_out = hold_out(labels, data.test_fraction, data.split_seed)
    training = np.flatnonzero(~held_out)
    chosen_to_validate = validation_part(labels[training], data)
    validation = np.zeros(len(labels), dtype=bool)
    validation[training[chosen_to_validate]] = True
    if data.shifts is not None:
        training = training[~chosen_to_validate]  # no copy of an image to validate is trained on
        copies = shifted_copies(images[training], chosen[training], data.shifts)
        images = np.concatenate([images, copies])
        labels = np.concatenate([labels, np.tile(labels[training], data.shifts.copies)])
        held_out, validation = (
            np.concatenate([part, np.zeros(len(copies), dtype=bool)])
            for part in (held_out, validation)
        )
    binning = Binning(data.steps, input_channels(data))
    pixels = images.reshape(len(images), -1)
    for first in range(0, len(pixels), SAMPLES_AT_ONCE):
        chunk = pixels[first : first + SAMPLES_AT_ONCE]
        events = encode(chunk, data.encoding, data.steps, data.step_ms, first)
        binning.add(*events, samples=len(chunk))
        progress(binning.samples, len(pixels))
    return divided(binning, labels, held_out, images, validation)


@lru_cache(maxsize=None)
def scans() -> Tuple[np.ndarray, np.ndarray]:
    """Return images float64 `[1797, 8, 8]` in [0, 1] and labels int32 `[1797]`.

    Raises:
        LibraryMissing: scikit-learn cannot be imported.
    """
    try:
        from sklearn.datasets import load_digits

        scans = load_digits()
    except (ImportError, OSError) as error:
        raise LibraryMissing(
            f"the digits come with scikit-learn, which cannot be imported ({error}): install the "
            "worker's requirements, or `pip install scikit-learn`, into the runner's environment"
        ) from error
    return scans.images / BRIGHTEST, scans.target.astype(np.int32)
