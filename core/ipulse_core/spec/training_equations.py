"""Losses and regularisers with a name as equations, for programs that compute them on tiles.

The arguments are `ipulse.spec.ExperimentSpec` and its parts, or the document that the runner reads.
"""

from __future__ import annotations

from typing import Any, List, NamedTuple, Optional, Tuple

from ipulse_core.equations.loss import LossEquations
from ipulse_core.spec.derived_values import (
    bounded_layers,
    has_own_loss,
    loss_name,
    spike_targets,
)
from ipulse_core.spec.device_training import DEVICE_LOSSES
from ipulse_core.spec.layer_names import layer_name
from ipulse_core.spec.layer_values import equations_of_spec

LOSSES = {
    "mean_membrane_cross_entropy": "-sum(label * log_softmax(mean_over_time(membrane)))",
    "max_membrane_cross_entropy": "-sum(label * log_softmax(max_over_time(membrane)))",
    "last_membrane_cross_entropy": "-sum(label * log_softmax(last(membrane)))",
    "step_cross_entropy": "mean_over_time(-sum(label * log_softmax(membrane)))",
    "spike_count_cross_entropy": "-sum(label * log_softmax(spike_count))",
    "spike_count_mse": "mean(square(spike_count - where(label, of_right, of_wrong)))",
    "step_mse": "mean_over_time(mean(square(membrane - step_target)))",
    "mean_membrane_mse": "mean(square(mean_over_time(membrane) - target))",
    "last_membrane_mse": "mean(square(last(membrane) - target))",
}
_LOWER = "mean(square(max(0, bound - sum_over_time({layer}.spikes))))"
_EXCESS = "max(0, mean(sum_over_time({layer}.spikes)) - bound)"
_MEMBRANE = (
    "mean_over_time(mean(square(max(0, {layer}.membrane - high) + max(0, low - {layer}.membrane))))"
)


class _Parameter(NamedTuple):
    name: str
    value: float


class _Loss(NamedTuple):
    """A loss as a spec describes one with equations."""

    name: str
    loss: str
    parameters: Tuple[_Parameter, ...] = ()
    values: Tuple[Any, ...] = ()
    prediction: Optional[str] = None


class _Penalty(NamedTuple):
    """A regulariser as a spec describes one with equations."""

    name: str
    penalty: str
    parameters: Tuple[_Parameter, ...]
    values: Tuple[Any, ...] = ()


class TrainingEquations(NamedTuple):
    """The loss and the regularisers of a training.

    Attributes:
        loss: Of a sample.
        penalties: Of a sample, each with its strength.
    """

    loss: LossEquations
    penalties: Tuple[Tuple[float, LossEquations], ...]


def needs_equations(training: Any) -> bool:
    """Returns whether a program on tiles computes the loss by equations.

    The losses of DEVICE_LOSSES have functions of PopLibs, which add no regularisers.
    """
    return bool(
        has_own_loss(training) or training.regularisers or training.loss not in DEVICE_LOSSES
    )


def training_equations(spec: Any) -> TrainingEquations:
    """Returns loss and regularisers of a spec as equations.

    Raises:
        KeyError: The loss is of the times of first spikes, which no equation derives.
    """
    training, loss = spec.training, spec.training.loss
    if not has_own_loss(training):
        loss = _named_loss(training)
    penalties: List[Tuple[float, LossEquations]] = []
    for bound in training.regularisers:
        parts = [bound] if bound.kind == "equations" else _bounds(spec, bound)
        penalties += [(float(bound.strength), equations_of_spec(spec, each)) for each in parts]
    return TrainingEquations(equations_of_spec(spec, loss), tuple(penalties))


def _named_loss(training: Any) -> _Loss:
    name = loss_name(training)
    parameters: Tuple[_Parameter, ...] = ()
    if name == "spike_count_mse":
        right, wrong = spike_targets(training)
        parameters = _Parameter("of_right", right), _Parameter("of_wrong", wrong)
    return _Loss(name, LOSSES[name], parameters)


def _bounds(spec: Any, bound: Any) -> List[_Penalty]:
    """Returns a regulariser of each layer that it bounds."""
    if bound.kind == "membrane":
        text, limits = _MEMBRANE, {"low": bound.low, "high": bound.high}
    else:
        text, limits = _LOWER if bound.kind == "lower" else _EXCESS, {"bound": bound.spikes}
        if bound.kind == "upper" and bound.power == 2:
            text = f"square({text})"
    parameters = tuple(_Parameter(name, value) for name, value in limits.items())
    hidden = len(spec.network.layers)
    return [
        _Penalty(bound.kind, text.format(layer=layer_name(index, hidden)), parameters)
        for index in bounded_layers(bound, hidden)
    ]
