"""Optimizers, one class per `kind`, and gradient clipping.

An optimizer is applied to every weight and trained constant. In the formulas g is the gradient,
lr the learning rate of the step, and t the number of the step, from 1.
"""

from collections.abc import Iterator
from typing import Literal

from ipulse.models import Field, StrictModel
from ipulse_core.errors import Problem


class SGDSpec(StrictModel):
    """Stochastic gradient descent: a = momentum a + g; w -= lr a.

    With nesterov: w -= lr (g + momentum a).
    """

    kind: Literal["sgd"] = Field(default="sgd", description="Optimizer.")
    learning_rate: float = Field(default=0.1, gt=0.0, le=1e4, description="Step size.")
    momentum: float = Field(
        default=0.9, ge=0.0, lt=1.0, description="Fraction of the previous step that is kept."
    )
    nesterov: bool = Field(
        default=False, description="Whether to evaluate the gradient one step ahead (Nesterov)."
    )

    def problems(self) -> Iterator[Problem]:
        """Yields a problem for Nesterov without momentum."""
        if self.nesterov and self.momentum == 0:
            yield Problem("/nesterov", "inconsistent", "needs a momentum above 0")


class _Moments(StrictModel):
    """Fields of Adam and AdamW."""

    learning_rate: float = Field(default=2e-3, gt=0.0, le=10.0, description="Step size.")
    beta_1: float = Field(
        default=0.9, ge=0.0, lt=1.0, description="Decay of the mean of gradients."
    )
    beta_2: float = Field(
        default=0.999, ge=0.0, lt=1.0, description="Decay of the mean of squares."
    )
    epsilon: float = Field(
        default=1e-7, ge=1e-30, le=1.0, description="Added to the root of the mean of squares."
    )


class AdamSpec(_Moments):
    """Adam with bias correction."""

    kind: Literal["adam"] = Field(default="adam", description="Optimizer.")


class AdamWSpec(_Moments):
    """Adam with decoupled weight decay.

    Before Adam's step w -= lr weight_decay w, for matrices only.
    """

    kind: Literal["adamw"] = Field(default="adamw", description="Optimizer.")
    weight_decay: float = Field(
        default=1e-2,
        ge=0.0,
        le=1e3,
        description="Fraction of a weight that a step with learning rate 1 removes.",
    )


Optimizer = AdamSpec | AdamWSpec | SGDSpec


class GradientClipping(StrictModel):
    """Bounds of the gradient, by value first and then by norm."""

    value: float | None = Field(
        default=None, gt=0.0, le=1e9, description="Largest magnitude of an element; null: no bound."
    )
    global_norm: float | None = Field(
        default=None,
        gt=0.0,
        le=1e9,
        description="Largest Euclidean norm of all gradients together; null: no bound.",
    )
