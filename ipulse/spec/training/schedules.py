"""Schedules over steps and epochs, and early stopping."""

from typing import Literal

from ipulse.models import Field, StrictModel


class RateSchedule(StrictModel):
    """How the learning rate changes from step to step."""

    shape: Literal["constant", "cosine"] = Field(
        default="constant",
        description="constant, or cosine: falls along half a cosine until the last step.",
    )
    warmup_steps: int = Field(
        default=0,
        ge=0,
        le=10_000_000,
        description="The rate first rises linearly over this many steps.",
    )
    final_share: float = Field(
        default=0.02,
        ge=0.0,
        le=1.0,
        description="Fraction of the optimizer's learning rate at which a cosine ends.",
    )


class SecondThresholdRamp(StrictModel):
    """How the second thresholds of all layers that have one rise to the layer's value.

    Few neurons of an untrained network spike; a low second threshold lets gradient flow through
    the others at first.
    """

    start: float = Field(
        default=-1.0,
        ge=-1e6,
        le=1e6,
        description="Second threshold in the first epoch, unless the layer's is lower.",
    )
    epochs: int = Field(
        default=10,
        ge=1,
        le=100_000,
        description="Number of epochs after which the layer's value applies.",
    )
    shape: Literal["linear", "cosine", "exponential"] = Field(
        default="linear",
        description="linear: by the same step every epoch; cosine: along half a cosine; "
        "exponential: the distance shrinks by the same factor every epoch, to 1 % before the last.",
    )


class EarlyStoppingSpec(StrictModel):
    """Ends training when a metric has not improved for some epochs."""

    metric: Literal[
        "test_loss",
        "test_accuracy",
        "loss",
        "accuracy",
        "validation_loss",
        "validation_accuracy",
        "test_mae",
        "mae",
        "validation_mae",
    ] = Field(
        default="test_loss",
        description="The metric; with data.validation, validation_loss if not given, and never of "
        "the test samples. Losses and mean absolute errors (mae, of a regression) should fall, "
        "accuracies should rise. Where test samples decide "
        "when to stop, their accuracy is slightly too optimistic: set data.validation.",
    )
    patience: int = Field(
        default=10,
        ge=1,
        le=100_000,
        description="Stops after this many epochs in a row without improvement.",
    )
    min_delta: float = Field(
        default=0.0, ge=0.0, le=1e9, description="Smallest change that counts as an improvement."
    )
    restore_best: bool = Field(
        default=True,
        description="Whether to keep the best epoch's weights instead of the last one's.",
    )
