"""Ends a training if its numbers are no longer finite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Union

import numpy as np

from ipulse_core.errors import IPUlseError

if TYPE_CHECKING:
    from ipulse_worker.runner.training.loop import Training


class Diverged(IPUlseError):
    """The loss or a weight is no longer a finite number."""

    code = "diverged"


def diverged(failure: Exception, training: Training) -> Diverged:
    """Return the error for numbers of a layer with equations that are not finite."""
    epoch = training.step // training.schedule.steps_per_epoch + 1
    return Diverged(
        f"{failure} (training step {training.step + 1:,}, epoch {epoch:,}): bound its values, as "
        "by min and max in its equations, or lower training.optimizer.learning_rate or "
        "network.initial_membrane_std"
    )


def require_finite(what: str, values: Union[float, np.ndarray], step: int, epoch: int) -> None:
    """Check the loss or the weights after a step.

    Raises:
        Diverged: a value is not finite.
    """
    if not np.isfinite(values).all():
        raise Diverged(
            f"{what} is no longer a finite number at step {step:,} (epoch {epoch:,}): lower "
            "training.optimizer.learning_rate or network.initial_membrane_std"
        )
