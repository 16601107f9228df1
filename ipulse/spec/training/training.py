"""How an experiment learns: loss, optimizer, schedules, regularisers and checkpoints."""

from collections.abc import Iterator
from typing import Annotated, Literal

from ipulse.models import ByKind, ByShape, Field, ListOf, StrictModel, few, unit
from ipulse.spec.fields import Steps
from ipulse_core.errors import Problem
from ipulse_core.spec.derived_values import loss_name

from .augmentation import AugmentationSpec
from .optimizers import AdamSpec, GradientClipping, Optimizer
from .own_loss import EquationsLossSpec
from .regularisers import Regulariser
from .schedules import EarlyStoppingSpec, RateSchedule, SecondThresholdRamp

MAX_REGULARISERS = 16

Loss = Literal[
    "mean_membrane_cross_entropy",
    "max_membrane_cross_entropy",
    "step_cross_entropy",
    "spike_count_cross_entropy",
    "spike_count_mse",
    "last_membrane_cross_entropy",
    "first_spike_cross_entropy",
    "step_mse",
    "mean_membrane_mse",
    "last_membrane_mse",
]


class SpikeTargets(StrictModel):
    """Target spike counts of the readout neurons in a sample."""

    right: float = Field(
        default=10.0, ge=0.0, le=1e6, description="For the neuron of the sample's class."
    )
    wrong: float = Field(default=1.0, ge=0.0, le=1e6, description="For every other neuron.")

    def problems(self) -> Iterator[Problem]:
        """Yields a problem unless the right class has the higher target."""
        if self.wrong >= self.right:
            yield Problem("/wrong", "inconsistent", f"must be below right ({self.right:g})")


class TrainingSpec(StrictModel):
    """How the network is trained."""

    epochs: int = Field(
        default=30, ge=1, le=100_000, description="Passes over the training samples."
    )
    batch_size: int = Field(default=64, ge=1, le=65_536, description="Samples per step.")
    augmentation: AugmentationSpec | None = Field(
        default=None,
        description="Random changes of the training samples' input events; null: none.",
    )
    optimizer: Annotated[Optimizer, ByKind(default="adam")] = Field(
        default=AdamSpec(), description="The optimizer."
    )
    schedule: RateSchedule = Field(
        default=RateSchedule(), description="Schedule of the learning rate."
    )
    gradient_clipping: GradientClipping = Field(
        default=GradientClipping(), description="Bounds of the gradient."
    )
    loss: Annotated[Loss | EquationsLossSpec, ByShape()] = Field(
        default="mean_membrane_cross_entropy",
        description="With a leaky readout: cross-entropy of the membrane's mean over time, of its "
        "maximum over time, of its value at the last step, or at each step (mean of all steps; the "
        "predicted class is the one that leads most often). With a spiking readout: cross-entropy "
        "of the spike counts, the mean squared distance of the spike counts from spike_targets, or "
        "cross-entropy of -t / first_spike_ms, where t is the time of a neuron's first spike, or "
        "the sample's duration without one (the class that spikes first is predicted). For a "
        "regression, with a leaky readout and the targets of an npz data set: mean squared error "
        "of the membrane at each step, of its mean over time, or at the last step. An object is a "
        "loss of your own as equations.",
    )
    spike_targets: SpikeTargets | None = Field(
        default=None,
        description="Targets of the loss spike_count_mse; null: 10 spikes of the right neuron, 1 "
        "of every other.",
    )
    first_spike_ms: float | None = Field(
        default=None,
        gt=0.0,
        le=1e6,
        description="Time constant of the loss first_spike_cross_entropy; null: 10 ms.",
        json_schema_extra=unit("ms"),
    )
    truncate_steps: Steps | None = Field(
        default=None,
        description="Truncated backpropagation through time: samples are cut into windows of this "
        "many steps. Membranes and spikes pass from window to window, gradients do not. Null: "
        "gradients pass through the whole sample.",
    )
    regularisers: Annotated[
        ListOf[Annotated[Regulariser, ByKind()]],
        Field(max_length=MAX_REGULARISERS),
        few(MAX_REGULARISERS),
    ] = Field(
        default=(),
        description="Bounds on spikes and membranes of layers, and penalties of your own.",
    )
    second_threshold_ramp: SecondThresholdRamp | None = Field(
        default=None, description="How second thresholds rise over the epochs; null: constant."
    )
    early_stopping: EarlyStoppingSpec | None = Field(
        default=None, description="When to end before the last epoch; null: never."
    )
    checkpoint_epochs: int = Field(
        default=1, ge=1, le=100_000, description="Number of epochs between checkpoints."
    )

    def problems(self) -> Iterator[Problem]:
        """Yields targets that the loss does not use and a ramp longer than the training."""
        if self.spike_targets is not None and self.loss != "spike_count_mse":
            detail = f"the loss {loss_name(self)} does not use them: remove them"
            yield Problem("/spike_targets", "inconsistent", detail)
        if self.first_spike_ms is not None and self.loss != "first_spike_cross_entropy":
            detail = f"the loss {loss_name(self)} does not use it: remove it"
            yield Problem("/first_spike_ms", "inconsistent", detail)
        ramp = self.second_threshold_ramp
        if ramp is not None and ramp.epochs > self.epochs:
            detail = f"the ramp would not end within the training ({self.epochs} epochs)"
            yield Problem("/second_threshold_ramp/epochs", "inconsistent", detail)
