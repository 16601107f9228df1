"""The rules between an experiment and the Poplar op, on emulated and on real IPUs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ipulse.spec.sizes import layer_sizes
from ipulse_core.errors import Problem
from ipulse_core.ipu import MOST_SENDERS
from ipulse_core.spec.derived_values import (
    input_channels,
    reads_first_spikes,
    spiking_layers,
    splits_neurons,
)
from ipulse_core.spec.kind_fields import field_of
from ipulse_core.spec.single_layers import runs_layers_alone, single_layer_features

if TYPE_CHECKING:
    from ipulse.spec.device import EmulatorDevice, IPUDevice
    from ipulse.spec.experiment import ExperimentSpec
    from ipulse.spec.network.network import NetworkSpec


def problems_on_ipus(spec: ExperimentSpec, device: EmulatorDevice | IPUDevice) -> Iterator[Problem]:
    """Yields what the Poplar op cannot do; see docs/reference/poplar_op.md."""
    network, on = spec.network, f"on {device.kind}"
    if device.kind == "ipu" and "decay" in network.trainable:
        detail = f"decays cannot be trained {on}: it has no float64 to derive scales in"
        yield Problem("/network/trainable", "unsupported", detail)
    yield from _problems_of_adaptation(network, device)
    if device.kind == "ipu":
        yield from _problems_of_single_layers(network)
    elif device.ipus != 1 and runs_layers_alone(network):
        features = " and ".join(single_layer_features(network))
        detail = (
            f"layers with {features} are programs of their own, on one IPU; got {device.ipus}: "
            "set it to 1"
        )
        yield Problem("/device/ipus", "unsupported", detail)
    if device.kind == "ipu" and reads_first_spikes(spec.training):
        detail = f"times of first spikes are not computed {on}: use a loss of spike counts"
        yield Problem("/training/loss", "unsupported", detail)
    channels = input_channels(spec.data)
    if channels > MOST_SENDERS:
        detail = f"ids have 16 bits {on}: at most {MOST_SENDERS:,} channels; got {channels:,}"
        yield Problem("/data", "unsupported", detail)
    layers = [f"/network/layers/{number}" for number in range(len(network.layers))]
    places = len(layers) + 1
    if device.split == "layers" and device.ipus > places:
        detail = f"each layer is on one IPU: {places} layers can use as many; got {device.ipus}"
        yield Problem("/device/split", "unsupported", detail)
    if not splits_neurons(device, places):
        return
    # A layer of one or two neurons is not split: they share a tile.
    sizes = layer_sizes(spec)[1:]
    spiking = spiking_layers(network)
    pointers = [*layers, "/network/readout"]
    for pointer, layer, neurons in zip(pointers, spiking, sizes, strict=False):
        if field_of(layer, "policy") == "top" and neurons > 2:
            detail = (
                f"top compares membranes {on}, and only ids are sent between IPUs: keep layers "
                f"whole, on at most {places} IPUs"
            )
            yield Problem(f"{pointer}/policy", "unsupported", detail)


def _problems_of_single_layers(network: NetworkSpec) -> Iterator[Problem]:
    """Yields dropout, residual additions and standardised weights, which IPUs do not have."""
    hint = "on ipu: remove it, or use device kind cpu or emulator"
    layers = network.layers
    places = [f"/network/layers/{index}" for index in range(len(layers))]
    for place, layer in zip([*places, "/network/readout"], [*layers, network.readout], strict=True):
        if field_of(layer, "dropout"):
            yield Problem(f"{place}/dropout", "unsupported", f"spikes are not dropped {hint}")
        if field_of(layer, "standardised"):
            detail = f"weights are not standardised {hint}"
            yield Problem(f"{place}/standardised", "unsupported", detail)
        if field_of(layer, "residual"):
            yield Problem(f"{place}/residual", "unsupported", f"layers receive one layer {hint}")


def _problems_of_adaptation(
    network: NetworkSpec, device: EmulatorDevice | IPUDevice
) -> Iterator[Problem]:
    """Yields what the Poplar op does not combine with adaptive thresholds."""
    hidden = len(network.layers)
    places = [
        (f"/network/layers/{index}" if index < hidden else "/network/readout", layer)
        for index, layer in enumerate(spiking_layers(network))
        if field_of(layer, "adaptation") is not None
    ]
    for place, layer in places:
        if layer.policy == "top":
            detail = f"thresholds cannot adapt with top on {device.kind}: choose index or cyclic"
            yield Problem(f"{place}/policy", "unsupported", detail)
    if places and network.reset != "none" and network.reset_gradient == "none":
        detail = (
            f"where thresholds adapt, the gradient of the reset is mask or term on {device.kind}; "
            "got none: choose one of these"
        )
        yield Problem("/network/reset_gradient", "unsupported", detail)
    if places and device.memory == "recompute":
        detail = "where thresholds adapt, all steps are stored: use slots"
        yield Problem("/device/memory", "unsupported", detail)
