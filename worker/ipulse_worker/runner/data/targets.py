"""The targets of a regression, in the shape that the spec's loss compares."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ipulse_core.spec.derived_values import (
    class_count,
    has_step_targets,
    is_regression,
    loss_name,
)
from ipulse_worker.runner.data.dataset import DataInvalid, Dataset

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec


def with_targets(dataset: Dataset, spec: ExperimentSpec) -> Dataset:
    """Return the data set with targets as Objective describes them, or without any.

    Raises:
        DataInvalid: there are none, or they do not fit the loss or the spec's sizes.
    """
    if not is_regression(spec.training):
        return replace(dataset, targets=None)
    loss, targets, outputs, steps = (
        loss_name(spec.training),
        dataset.targets,
        class_count(spec.data),
        spec.data.steps,
    )
    if targets is None:
        raise DataInvalid(
            f"the data set has no targets, which the loss {loss} needs: add the array targets"
        )
    if targets.shape[-1] != outputs:
        raise DataInvalid(
            f"the data set has {targets.shape[-1]:,} target values; data.outputs is {outputs:,}"
        )
    if targets.ndim == 3 and targets.shape[1] != steps:
        raise DataInvalid(
            f"the data set has targets of {targets.shape[1]:,} steps; data.steps is {steps:,}"
        )
    of_steps = has_step_targets(spec.training)
    if targets.ndim == 3 and not of_steps:
        raise DataInvalid(
            f"the data set has targets of every step, and the loss {loss} needs one of each "
            "sample: use step_mse, or step_target in equations"
        )
    if targets.ndim == 2 and of_steps:
        # A view: the targets of a sample apply to all of its steps.
        targets = np.broadcast_to(targets[:, np.newaxis], (len(targets), steps, outputs))
    return replace(dataset, targets=targets)
