"""Devices that fit the rest of a spec."""

from __future__ import annotations

from typing import Any

from ipulse.spec import (
    CPUDevice,
    IPUDevice,
)
from ipulse_core.ipu import MOST_SENDERS
from ipulse_core.registry.refusals import problems
from ipulse_core.spec.derived_values import (
    input_channels,
    spiking_layers,
)
from ipulse_core.spec.part_layers import part_layers

from .values import replace


def fit_device(spec: Any) -> Any:
    device, network = spec.device, spec.network
    quantised = any(layer.quantisation for layer in (*network.layers, network.readout))
    if isinstance(device, CPUDevice):
        return replace(spec, device=replace(device, weights_dtype="float32")) if quantised else spec
    if quantised and isinstance(device, IPUDevice):
        return replace(spec, device=CPUDevice())
    if input_channels(spec.data) > MOST_SENDERS:
        return replace(spec, device=CPUDevice())
    if any(layer.adaptation is not None for layer in spiking_layers(network)):
        return replace(spec, device=CPUDevice())
    if any(
        layer.dropout or layer.residual or layer.standardised
        for layer in (*network.layers, network.readout)
    ):
        return replace(spec, device=CPUDevice())
    if isinstance(device, IPUDevice):
        trainable = tuple(name for name in network.trainable if name != "decay")
        network = replace(network, trainable=trainable)
    most, places = device.ipus, len(network.layers) + 1
    if any(layer.policy == "top" for layer in spiking_layers(network)):
        most = 1 if device.split == "neurons" else min(most, places)
    if device.split == "layers":
        most = min(most, places)
    power = 2 ** (most.bit_length() - 1)
    device = replace(device, ipus=power)
    return replace(spec, network=network, device=device)


def fit_device_training(spec: Any) -> Any:
    """The emulator trains what it can on the device; only numbers of half are rounded."""
    device = spec.device
    if isinstance(device, CPUDevice):
        return device
    states = "float32" if part_layers(spec.network) else device.states_dtype
    if isinstance(device, IPUDevice):
        rounds = device.stochastic_rounding and states == "float16"
        return replace(device, states_dtype=states, stochastic_rounding=rounds)
    training = "host" if problems(spec) else device.training
    dtype = device.weights_dtype if training == "device" else "float32"
    rounds = device.stochastic_rounding and "float16" in (dtype, states)
    return replace(
        device,
        training=training,
        weights_dtype=dtype,
        states_dtype=states,
        stochastic_rounding=rounds,
    )
