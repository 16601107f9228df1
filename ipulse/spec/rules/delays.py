"""Rules between delays, the steps of the data, convolutions and the device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ipulse.spec.device import CPUDevice
from ipulse_core.errors import Problem
from ipulse_core.spec.conv_layers import conv_layers
from ipulse_core.spec.derived_values import input_delays
from ipulse_core.spec.part_layers import part_layers, part_name

if TYPE_CHECKING:
    from ipulse.spec.experiment import ExperimentSpec


def delay_problems(spec: ExperimentSpec) -> Iterator[Problem]:
    """Yields delays after which no spike arrives, or which the network or the device lacks."""
    network, steps = spec.network, spec.data.steps
    limits = []
    if conv_layers(network):
        limits.append("in a network with convolutions")
    if part_layers(network):
        limits.append(f"in a network with {part_name(network)}")
    if not isinstance(spec.device, CPUDevice):
        limits.append(f"on {spec.device.kind}")
    if network.delay > 1 and limits:
        detail = f"{limits[0]} spikes take 0 steps or 1; got {network.delay}"
        yield Problem("/network/delay", "unsupported", detail)
        return
    layers = [*network.layers, network.readout]
    if any(getattr(layer, "residual", ()) for layer in layers):
        limits.append("in a network with residual additions")
    arrivals = [0]  # steps after which spikes can arrive at the input and the layers
    for index, (layer, delay) in enumerate(zip(layers, input_delays(network), strict=True)):
        place = f"/network/layers/{index}" if index < len(network.layers) else "/network/readout"
        is_own = getattr(layer, "delay", None) is not None
        senders = [index, *getattr(layer, "residual", ())]
        arrivals.append(delay + min(arrivals[sender] for sender in senders))
        if is_own and limits:
            detail = (
                f"{limits[0]} layers have no delay of their own: remove it, or set network.delay"
            )
            yield Problem(f"{place}/delay", "unsupported", detail)
        elif delay and 0 < steps <= arrivals[-1]:
            pointer = f"{place}/delay" if is_own else "/network/delay"
            detail = (
                f"spikes of the input take {arrivals[-1]:,} steps to {place}, and none arrives "
                f"within the {steps:,} steps of a sample: lower it"
            )
            yield Problem(pointer, "inconsistent", detail)
            return
