"""Bounds on how often hidden neurons spike, told apart by `kind`. c is the number of spikes of a
neuron in a sample; the penalty is added to the loss of a batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Tuple, Union

from ipulse_core.schema import described


@dataclass(frozen=True)
class _Bound:
    layers: Union[Tuple[int, ...], None] = described(
        "Which hidden layers, from 1; null: all.", default=None, min_items=1, max_items=16, ge=1
    )


@dataclass(frozen=True)
class LowerBound(_Bound):
    """strength * mean over samples and neurons of max(0, spikes - c)^2: wakes silent neurons."""

    kind: Literal["lower"] = described("Which bound.", default="lower")
    spikes: float = described("Spikes that a neuron should have.", default=1.0, gt=0.0, le=1e6)
    strength: float = described("Weight of the penalty.", default=0.1, gt=0.0, le=1e9)


@dataclass(frozen=True)
class UpperBound(_Bound):
    """strength * mean over samples of max(0, (mean of c over the layer) - spikes)^power: calms
    the layer as a whole."""

    kind: Literal["upper"] = described("Which bound.", default="upper")
    spikes: float = described(
        "Mean spikes that a neuron may have for nothing.", default=5.0, ge=0.0, le=1e6
    )
    strength: float = described("Weight of the penalty.", default=0.1, gt=0.0, le=1e9)
    power: Literal[1, 2] = described("1: in proportion; 2: squared.", default=2)


Regulariser = Union[LowerBound, UpperBound]
