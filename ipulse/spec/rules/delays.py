"""Rules between delays, the steps of the data and the device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ipulse.spec.device import CPUDevice, EmulatorDevice
from ipulse.spec.sizes import layer_sizes
from ipulse_core.errors import Problem
from ipulse_core.ipu import MOST_SENDERS
from ipulse_core.spec.conv_layers import senders_of
from ipulse_core.spec.derived_values import input_delays
from ipulse_core.spec.kind_fields import field_of

if TYPE_CHECKING:
    from ipulse.spec.experiment import ExperimentSpec

MAX_TAPPED_WEIGHTS = 2**26  # of a layer: weights times the delays that a sender's spikes can take
MAX_SENDERS = 2**24  # senders of a layer times their delays


def delay_problems(spec: ExperimentSpec) -> Iterator[Problem]:
    """Yields delays after which no spike arrives, or which the network or the device lacks."""
    yield from _problems_of_connections(spec)
    network, steps = spec.network, spec.data.steps
    limits = _devices_without(spec)
    if network.delay > 1 and limits:
        detail = f"{limits[0]} spikes take 0 steps or 1; got {network.delay}: choose one of these"
        yield Problem("/network/delay", "unsupported", detail)
        return
    layers = [*network.layers, network.readout]
    if any(field_of(layer, "residual") for layer in layers):
        limits.append("in a network with residual additions")
    arrivals = [0]  # steps after which spikes can arrive at the input and the layers
    for index, (layer, delay) in enumerate(zip(layers, input_delays(network), strict=True)):
        place = f"/network/layers/{index}" if index < len(network.layers) else "/network/readout"
        is_own = layer.delay is not None
        senders = [index, *field_of(layer, "residual")]
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


def _devices_without(spec: ExperimentSpec) -> list[str]:
    """Return the device, for messages, if its spikes take 0 steps or 1."""
    device = spec.device
    if isinstance(device, EmulatorDevice):
        return ["where device.training is device"] if device.training == "device" else []
    return [] if isinstance(device, CPUDevice) else [f"on {device.kind}"]


def _problems_of_connections(spec: ExperimentSpec) -> Iterator[Problem]:
    """Yields delays of connections that the network, the training or the device lacks."""
    network = spec.network
    layers = [*network.layers, network.readout]
    limits = _devices_without(spec)
    if isinstance(spec.device, CPUDevice) and spec.device.weights_dtype != "float32":
        limits.append("where device.weights_dtype is not float32")
    if spec.training.truncate_steps is not None:
        limits.append("where gradients are truncated")
    all_senders, sizes = senders_of(spec), layer_sizes(spec)
    most = MAX_SENDERS if isinstance(spec.device, CPUDevice) else MOST_SENDERS
    for index, layer in enumerate(layers):
        delays = field_of(layer, "delays")  # only LIF layers and readouts have them
        if delays is None:
            continue
        place = f"/network/layers/{index}" if index < len(network.layers) else "/network/readout"
        if limits:
            detail = f"{limits[0]} connections have no delays of their own: remove it"
            yield Problem(f"{place}/delays", "unsupported", detail)
            continue
        if layer.delay is not None:
            detail = "the layer has delays of its connections: remove one of the two"
            yield Problem(f"{place}/delay", "inconsistent", detail)
        if 0 < spec.data.steps <= delays.longest:  # 0: as many as the data have
            detail = (
                f"spikes would arrive after the {spec.data.steps:,} steps of a sample: "
                f"at most {spec.data.steps - 1:,}"
            )
            yield Problem(f"{place}/delays/longest", "inconsistent", detail)
        senders, neurons = all_senders[index], sizes[index + 1]
        taps = delays.taps
        each = f"{senders:,} senders with {taps:,} delays each"
        if taps * senders * neurons > MAX_TAPPED_WEIGHTS:
            takes = (
                f"{each} to {neurons:,} neurons take "
                f"{4 * taps * senders * neurons / 2**20:,.0f} MiB in a training step, of at most "
                f"{4 * MAX_TAPPED_WEIGHTS // 2**20:,}"
            )
        elif taps * senders > most:
            takes = f"{each} make {taps * senders:,}, of at most {most:,}"
        else:
            continue
        if delays.per == "neuron":
            detail = f"{takes}: use fewer neurons, or no delays of connections"
            yield Problem(f"{place}/delays", "too_large", detail)
        else:
            detail = f"{takes}: lower it, or use delays per neuron"
            yield Problem(f"{place}/delays/longest", "too_large", detail)
