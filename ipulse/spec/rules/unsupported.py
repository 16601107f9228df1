"""Truncated gradients and quantised weights, which not every network and device has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ipulse.spec.device import CPUDevice, IPUDevice
from ipulse_core.errors import Problem
from ipulse_core.spec.conv_layers import conv_layers
from ipulse_core.spec.custom_ops import op_layers
from ipulse_core.spec.derived_values import input_delays
from ipulse_core.spec.kind_fields import field_of
from ipulse_core.spec.neuron_packages import package_layers

if TYPE_CHECKING:
    from ipulse.spec.experiment import ExperimentSpec


def truncation_problems(spec: ExperimentSpec) -> Iterator[Problem]:
    """Yields a problem if gradients cannot be truncated in the network or on the device."""
    if spec.training.truncate_steps is None:
        return
    device = spec.device
    reason = None
    if not isinstance(device, CPUDevice) and device.memory == "recompute":
        reason = "gradients are not truncated where device.memory is recompute"
    elif conv_layers(spec.network):
        reason = "gradients are not truncated in a network with convolutions"
    elif op_layers(spec.network):
        reason = "gradients are not truncated in a network with custom ops"
    elif package_layers(spec.network):
        reason = "gradients are not truncated in a network with packages of neurons"
    elif any(input_delays(spec.network)):
        reason = "gradients are not truncated where spikes are delayed"
    if reason is not None:
        detail = f"{reason}: remove it"
        yield Problem("/training/truncate_steps", "unsupported", detail)


def quantisation_problems(spec: ExperimentSpec) -> Iterator[Problem]:
    """Yields layers with weights that the device cannot quantise."""
    network, device = spec.network, spec.device
    pointers = [f"/network/layers/{index}" for index in range(len(network.layers))]
    quantised = [
        pointer
        for pointer, layer in zip(
            [*pointers, "/network/readout"], [*network.layers, network.readout], strict=True
        )
        if field_of(layer, "quantisation") is not None
    ]
    if not quantised:
        return
    if isinstance(device, CPUDevice) and device.weights_dtype != "float32":
        detail = f"the weights of {quantised[0]} are quantised and not rounded again: remove it"
        yield Problem("/device/weights_dtype", "inconsistent", detail)
    if isinstance(device, IPUDevice):
        detail = "weights are not quantised on ipu: remove it, or use device kind cpu or emulator"
        for pointer in quantised:
            yield Problem(f"{pointer}/quantisation", "unsupported", detail)
