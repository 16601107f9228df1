"""The validation part: samples out of the training part that are held out to choose with.

It depends on the spec and the labels only, so every device and every attempt has the same one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ipulse_worker.runner.data.dataset import DataInvalid, Dataset, hold_out
from ipulse_worker.runner.randomness import Purpose

if TYPE_CHECKING:
    from ipulse.spec import Data

SEEDS = ("split_seed", "subset_seed", "seed")  # of the kinds of data; yin_yang has none


def with_validation(dataset: Dataset, data: Data) -> Dataset:
    """Return the data set with its validation part.

    Raises:
        DataInvalid: a class would have no sample to validate or none to train.
    """
    if len(dataset.validation):  # the loader has chosen it
        return dataset
    chosen = validation_part(dataset.labels[dataset.training], data)
    return replace(
        dataset,
        training=dataset.training[~chosen],
        validation=dataset.training[chosen],
    )


def validation_part(labels: np.ndarray, data: Data) -> np.ndarray:
    """Choose among the training samples, bool `[samples]`, by their labels and the data's seed.

    Raises:
        DataInvalid: a class would have no sample to validate or none to train.
    """
    if not data.validation:
        return np.zeros(len(labels), dtype=bool)
    seed: int = next((getattr(data, name) for name in SEEDS if hasattr(data, name)), 0)
    chosen = hold_out(labels, data.validation, seed, Purpose.VALIDATION)
    for part, is_in_part, change in (
        ("validation", chosen, "a larger fraction"),
        ("training", ~chosen, "a smaller fraction"),
    ):
        missing = np.setdiff1d(labels, labels[is_in_part])
        if len(missing):
            samples = int(np.count_nonzero(labels == missing[0]))
            raise DataInvalid(
                f"data.validation: {data.validation:g} of the {len(labels):,} training samples "
                f"leaves class {missing[0]}, which has {samples:,}, without a {part} sample: use "
                f"{change} or more samples"
            )
    return chosen
