"""Rules between truncated gradients, delays, convolutions and the device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ipulse.spec.device import CPUDevice
from ipulse_core.errors import Problem
from ipulse_core.spec.conv_layers import conv_layers
from ipulse_core.spec.custom_ops import op_layers
from ipulse_core.spec.derived_values import input_delays
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
