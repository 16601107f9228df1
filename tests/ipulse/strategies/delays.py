"""Delays of a network that fit its data, its training and its device."""

from __future__ import annotations

from typing import Any

from ipulse.spec import CPUDevice, DelaysSpec, ExperimentSpec, NetworkSpec
from ipulse.spec.rules.layers import MAX_SENDERS, MAX_TAPPED_WEIGHTS
from ipulse_core.spec.derived_values import class_count, input_channels

from .values import replace


def fit_delays(spec: ExperimentSpec, steps: int) -> NetworkSpec:
    """Delays after which spikes arrive within the steps, 0 where they are unknown."""
    network: Any = _fit_connections(spec, steps)
    most = max(0, (steps - 1) // (len(network.layers) + 1))  # they add up from layer to layer
    if not isinstance(spec.device, CPUDevice):
        most = min(most, 1)

    adds = any(layer.residual for layer in (*network.layers, network.readout))
    may_differ = isinstance(spec.device, CPUDevice) and not adds

    def fit(layer: Any) -> Any:
        own = may_differ and layer.delay is not None
        return replace(layer, delay=min(layer.delay, most) if own else None)

    fitted: NetworkSpec = replace(
        network,
        delay=min(network.delay, most),
        layers=tuple(map(fit, network.layers)),
        readout=fit(network.readout),
    )
    return fitted


def _fit_connections(spec: ExperimentSpec, steps: int) -> NetworkSpec:
    """Delays of connections that a CPU has memory for and that are within the steps."""
    network: Any = spec.network
    device = spec.device
    may_delay = isinstance(device, CPUDevice) and device.weights_dtype == "float32" and steps > 1
    sizes = [input_channels(spec.data), *(layer.neurons for layer in network.layers)]
    neurons = [*sizes[1:], class_count(spec.data)]

    def fit(layer: Any, before: int, after: int) -> Any:
        senders, weights = max(1, before), max(1, before * after)
        most = min(MAX_TAPPED_WEIGHTS // weights, MAX_SENDERS // senders)  # delays of a sender
        delays = layer.delays
        if delays is None or not may_delay or most < 2:
            return replace(layer, delays=None)
        longest = min(delays.longest, steps - 1)
        if delays.per == "synapse":
            longest = min(longest, most - 1)
            delays = DelaysSpec(longest=longest)
        return replace(layer, delays=replace(delays, longest=longest), delay=None)

    layers = [
        fit(layer, before, after)
        for layer, before, after in zip(
            (*network.layers, network.readout), sizes, neurons, strict=True
        )
    ]
    fitted: NetworkSpec = replace(network, layers=tuple(layers[:-1]), readout=layers[-1])
    return fitted
