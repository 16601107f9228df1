"""Trainings that fit a network and its data."""

from __future__ import annotations

from typing import Any

from ipulse.spec import (
    ExperimentSpec,
    IPUDevice,
    SGDSpec,
    SpikingReadoutSpec,
    TrainingSpec,
)
from ipulse_core.spec.conv_layers import conv_layers
from ipulse_core.spec.derived_values import (
    SPIKE_LOSSES,
    image_of,
    is_regression,
    reads_spikes,
    spiking_layers,
)

from .values import replace


def _fit_bound(bound: Any, hidden: int, spikes: bool) -> Any:
    if bound.kind == "equations":
        return bound
    if bound.kind == "membrane":
        low, high = sorted((bound.low, bound.high))
        bound = replace(bound, low=low, high=high)
    elif not spikes:
        bound = replace(bound, readout=False)
    if bound.layers is not None:
        bound = replace(bound, layers=tuple(min(at, hidden) for at in bound.layers))
    return bound


def fit_training(spec: ExperimentSpec) -> TrainingSpec:
    """The training of a spec, changed until it fits the network and the data."""
    training, network = spec.training, spec.network
    spikes = isinstance(network.readout, SpikingReadoutSpec)
    loss, regresses = training.loss, getattr(spec.data, "outputs", 0) > 0
    if regresses != is_regression(training):
        loss = "last_membrane_mse" if regresses else "max_membrane_cross_entropy"
    of_spikes = loss in SPIKE_LOSSES if isinstance(loss, str) else reads_spikes(training)
    if spikes != of_spikes:
        loss = "spike_count_mse" if spikes else "step_cross_entropy"
    if isinstance(spec.device, IPUDevice) and loss == "first_spike_cross_entropy":
        loss = "spike_count_cross_entropy"
    if isinstance(spec.device, IPUDevice) and not isinstance(loss, str):
        loss = "last_membrane_mse" if regresses else "step_cross_entropy"
        loss = "spike_count_mse" if spikes else loss
    targets, ramp = training.spike_targets, training.second_threshold_ramp
    if ramp is not None:
        ramp = replace(ramp, epochs=min(ramp.epochs, training.epochs))
    hidden = len(network.layers)
    regularisers = tuple(
        _fit_bound(bound, hidden, spikes)
        for bound in training.regularisers
        if bound.kind != "membrane" or not conv_layers(network)
    )
    augmentation = training.augmentation
    if augmentation is not None and image_of(spec.data) is None:
        augmentation = replace(augmentation, flip=False, crop_pixels=0)
    if augmentation is not None and not any(augmentation.model_dump().values()):
        augmentation = None
    stopping = training.early_stopping
    if stopping is not None:
        former, now = ("test_", "validation_")[:: 1 if spec.data.validation else -1]
        metric = stopping.metric.replace(former, now)
        metric = metric.replace(*(("accuracy", "mae") if regresses else ("mae", "accuracy")))
        stopping = replace(stopping, metric=metric)
    optimizer = training.optimizer
    if isinstance(optimizer, SGDSpec) and optimizer.momentum == 0:
        optimizer = replace(optimizer, nesterov=False)
    return replace(
        training,
        loss=loss,
        augmentation=augmentation,
        early_stopping=stopping,
        optimizer=optimizer,
        first_spike_ms=training.first_spike_ms if loss == "first_spike_cross_entropy" else None,
        spike_targets=targets if loss == "spike_count_mse" else None,
        second_threshold_ramp=ramp
        if any(layer.second_threshold is not None for layer in spiking_layers(network))
        else None,
        regularisers=regularisers,
    )
