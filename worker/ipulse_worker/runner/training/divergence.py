"""Ends a training if its numbers are no longer finite."""

from __future__ import annotations

from typing import Union

import numpy as np

from ipulse_core.errors import IPUlseError


class Diverged(IPUlseError):
    """The loss or a weight is no longer a finite number."""

    code = "diverged"


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
