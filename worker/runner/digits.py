"""The scanned digits of scikit-learn as spike latencies; the recipe is in ipulse.spec.DigitsData.

scikit-learn carries the images inside its package, so that nothing is downloaded.
"""

from __future__ import annotations

from typing import Tuple

import numpy as np

from ipulse.spec import DigitsData

from .data import Dataset, DataUnavailable, hold_out
from .randomness import Purpose, stream
from .spike_trains import spike_trains

BRIGHTEST = 16.0  # of a pixel as scikit-learn has them


def load(data: DigitsData) -> Dataset:
    """The same arrays on every machine.

    Raises DataUnavailable, with the cure, where scikit-learn is missing or does not load.
    """
    images, labels = _scans()
    if data.samples is not None:
        drawn = stream(Purpose.SUBSET, data.split_seed).permutation(len(labels))[: data.samples]
        chosen = np.sort(drawn)
        images, labels = images[chosen], labels[chosen]
    held_out = hold_out(labels, data.test_fraction, data.split_seed)
    pixels = images.reshape(len(images), -1)
    step = spike_steps(pixels, data)
    sample, channel = np.nonzero(step >= 0)
    trains = spike_trains(
        sample, step[sample, channel], channel, len(images), data.steps, data.inputs
    )
    return Dataset(
        trains=trains,
        labels=labels,
        images=images,
        training=np.flatnonzero(~held_out),
        test=np.flatnonzero(held_out),
    )


def spike_steps(brightness: np.ndarray, data: DigitsData) -> np.ndarray:
    """The step of each pixel's one spike, int64 like `brightness`; -1 where it stays silent.

    Brightness is in [0, 1]. A spike later than the last step is dropped, so silent too.
    """
    charged = brightness > data.threshold
    x = np.where(charged, brightness, 1.0)  # the 1 is masked below; it keeps the log finite
    latency_ms = data.tau_eff_ms * np.log(x / (x - data.threshold))
    # Compared before the cast: a latency may be larger than any integer.
    on_time = charged & (latency_ms < data.steps * data.step_ms)
    steps = np.where(on_time, latency_ms, -data.step_ms) // data.step_ms
    return steps.astype(np.int64)


def _scans() -> Tuple[np.ndarray, np.ndarray]:
    """Images float64 `[1797, 8, 8]` in [0, 1] and labels int32 `[1797]`."""
    try:
        from sklearn.datasets import load_digits

        scans = load_digits()
    except (ImportError, OSError) as error:
        raise DataUnavailable(
            f"the digits come with scikit-learn, which does not load here ({error}): install the "
            "worker's requirements, or `pip install scikit-learn`, into the runner's environment"
        ) from error
    return scans.images / BRIGHTEST, scans.target.astype(np.int32)
