"""Optimizers, told apart by `kind`. Each is applied to every weight and trained constant; g is the
gradient, lr the step's learning rate, t the number of the step, from 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Iterator, Literal, Union

from ipulse_core.errors import Problem
from ipulse_core.schema import described


@dataclass(frozen=True)
class SGD:
    """Stochastic gradient descent: a = momentum a + g; w -= lr a, or lr (g + momentum a) if
    nesterov."""

    kind: Literal["sgd"] = described("Which optimizer.", default="sgd")
    learning_rate: float = described("Step size.", default=0.1, gt=0.0, le=1e4)
    momentum: float = described("Share of the last step that is kept.", default=0.9, ge=0.0, lt=1.0)
    nesterov: bool = described("Whether the gradient is looked at a step ahead.", default=False)

    def problems(self) -> Iterator[Problem]:
        if self.nesterov and self.momentum == 0:
            yield Problem("/nesterov", "inconsistent", "needs a momentum above 0")


@dataclass(frozen=True)
class _Moments:
    """What Adam and AdamW share."""

    learning_rate: float = described("Step size.", default=2e-3, gt=0.0, le=10.0)
    beta_1: float = described("Decay of the mean of gradients.", default=0.9, ge=0.0, lt=1.0)
    beta_2: float = described("Decay of the mean of squares.", default=0.999, ge=0.0, lt=1.0)
    epsilon: float = described(
        "Added to the root of the mean of squares.", default=1e-7, ge=1e-30, le=1.0
    )


@dataclass(frozen=True)
class Adam(_Moments):
    """Adam with bias correction."""

    kind: Literal["adam"] = described("Which optimizer.", default="adam")


@dataclass(frozen=True)
class AdamW(_Moments):
    """Adam with decoupled weight decay: w -= lr weight_decay w, of matrices only, before Adam's
    step."""

    kind: Literal["adamw"] = described("Which optimizer.", default="adamw")
    weight_decay: float = described(
        "Share of a weight that a step of rate 1 takes off.", default=1e-2, ge=0.0, le=1e3
    )


Optimizer = Union[Adam, AdamW, SGD]


@dataclass(frozen=True)
class GradientClipping:
    """Bounds of the gradient, by value first and then by norm."""

    value: Union[float, None] = described(
        "No element further from 0 than this; null: no bound.", default=None, gt=0.0, le=1e9
    )
    global_norm: Union[float, None] = described(
        "All gradients together no longer than this, by Euclid's norm; null: no bound.",
        default=None,
        gt=0.0,
        le=1e9,
    )
