"""The rules between layers, the data and the device: convolutions, delays, states of equations."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import TYPE_CHECKING

from ipulse.spec.device import CPUDevice
from ipulse.spec.network.layers import too_many_slots
from ipulse.spec.sizes import layer_sizes
from ipulse_core.equations.neuron import MOST_TABLE_VALUES
from ipulse_core.errors import Problem
from ipulse_core.ipu import MOST_POOLED, MOST_SENDERS
from ipulse_core.spec.composed_layers import (
    NOT_IN_NIR,
    is_composed_convolution,
    is_in_nir,
    stored_states,
)
from ipulse_core.spec.conv_geometry import EmptyOutput
from ipulse_core.spec.conv_layers import (
    conv_geometries,
    conv_layers,
    geometry_of,
    hidden_sizes,
    input_scale,
    is_conv,
    planes_of,
    senders_of,
)
from ipulse_core.spec.derived_values import input_delays
from ipulse_core.spec.kind_fields import field_of
from ipulse_core.spec.layer_names import shown_names
from ipulse_core.spec.part_layers import has_equations, part_layers

if TYPE_CHECKING:
    from ipulse.spec.experiment import ExperimentSpec

MAX_CONV_NEURONS = 2**20  # of a convolution
MAX_TAPPED_WEIGHTS = 2**26  # of a layer: weights times the delays that a sender's spikes can take
MAX_SENDERS = 2**24  # senders of a layer times their delays
MAX_VALUES = 2**31  # of all states in all steps of a batch


def convolution_problems(spec: ExperimentSpec) -> Iterator[Problem]:
    """Yields convolutions that do not fit what enters them, or the device."""
    layers = conv_layers(spec.network)
    if not layers:
        return
    entering = planes_of(spec.data)
    if entering is None:
        where = "set data.shape" if hasattr(spec.data, "shape") else "choose other data"
        yield Problem(
            "/network/layers/0/kind",
            "inconsistent",
            f"a convolution needs images, and these channels have no height and width: {where}",
        )
        return
    for index, layer in enumerate(spec.network.layers[: len(layers)]):
        pointer = f"/network/layers/{index}"
        if layer.kind == "conv1d" and entering.height != 1:
            detail = f"its input is {entering} (height x width x channels): use conv2d"
            yield Problem(f"{pointer}/kind", "inconsistent", detail)
            return
        try:
            geometry = geometry_of(layer, entering)
        except EmptyOutput as error:
            yield Problem(pointer, "empty_output", str(error))
            return
        except ValueError as error:
            yield Problem(f"{pointer}/groups", "inconsistent", str(error))
            return
        if geometry.neurons > MAX_CONV_NEURONS:
            detail = (
                f"the layer has {geometry.neurons:,} neurons; at most {MAX_CONV_NEURONS:,} are "
                "allowed: use strides or fewer filters"
            )
            yield Problem(f"{pointer}/filters", "too_large", detail)
            return
        misfits = [
            Problem(pointer + each.pointer, each.code, each.detail)
            for each in too_many_slots(layer, geometry.neurons)
        ]
        if misfits:
            yield from misfits
            return
        is_pooled_on_tiles = geometry.pool != (1, 1) and not isinstance(spec.device, CPUDevice)
        if is_pooled_on_tiles and geometry.neurons > MOST_POOLED:
            detail = (
                f"a pool counts in 16 bits on {spec.device.kind}: at most {MOST_POOLED:,} neurons "
                f"in front of it; got {geometry.neurons:,}: use strides or fewer filters"
            )
            yield Problem(f"{pointer}/filters", "too_large", detail)
            return
        entering = geometry.pooled
    yield from _problems_of_ids(spec, len(layers), entering.sites)


def _problems_of_ids(spec: ExperimentSpec, convolutions: int, sites: int) -> Iterator[Problem]:
    """Yields a last convolution with more sites than a program of LIF neurons can tell apart."""
    behind = spec.network.layers[convolutions:]
    if isinstance(spec.device, CPUDevice) or sites <= MOST_SENDERS:
        return
    if not behind or not has_equations(behind[0]):  # those are given their currents
        detail = (
            f"ids of LIF neurons have 16 bits on {spec.device.kind}: at most {MOST_SENDERS:,} "
            f"neurons behind the pool; got {sites:,}: use a pool, strides or fewer filters"
        )
        yield Problem(f"/network/layers/{convolutions - 1}/filters", "too_large", detail)


def composed_problems(spec: ExperimentSpec) -> Iterator[Problem]:
    """Yields what convolutions that run as two ops do not have: see `is_composed_convolution`."""
    surrogate = spec.network.surrogate
    values = surrogate.values if surrogate.name == "table" else ()
    layers = conv_layers(spec.network)
    if len(values) > MOST_TABLE_VALUES and any(
        is_composed_convolution(spec, at) for at in range(len(layers))
    ):
        detail = (
            "convolutions with trained constants, constants by filter, synapses, adaptive "
            "thresholds, capacities, recurrence, membranes that are read or truncated gradients "
            f"have tables of at most {MOST_TABLE_VALUES} values; got {len(values):,}: use fewer "
            "values"
        )
        yield Problem("/network/surrogate/values", "unsupported", detail)
    if not part_layers(spec.network) and not is_in_nir(spec):
        for index, _ in enumerate(spec.export.nir):
            detail = f"{NOT_IN_NIR} are not exported to NIR: remove it"
            yield Problem(f"/export/nir/{index}", "unsupported", detail)
    rises = spec.training.second_threshold_ramp is not None
    for index, layer in enumerate(layers):
        if field_of(layer, "second_threshold") is None:
            continue
        pointer = f"/network/layers/{index}/second_threshold"
        if "threshold" in spec.network.trainable:
            detail = "the threshold is trained, which needs gradient through all: remove it"
            yield Problem(pointer, "unsupported", detail)
        elif rises and is_composed_convolution(spec, index):
            detail = (
                "it cannot rise in a convolution with trained constants, constants by filter, "
                "synapses, adaptive thresholds, a capacity, recurrence, membranes that are read or "
                "truncated gradients: remove it or the ramp"
            )
            yield Problem(pointer, "unsupported", detail)


def residual_problems(spec: ExperimentSpec) -> Iterator[Problem]:
    """Yields spikes of convolutions that are added to those of an image of another size."""
    layers = [*spec.network.layers, spec.network.readout]
    convolutions = len(conv_layers(spec.network))
    images = [None, *(geometry.pooled for geometry in conv_geometries(spec))]
    shown = ["the input", *shown_names(spec.network).values()]
    for index, layer in enumerate(layers):
        place = (
            f"/network/layers/{index}" if index < len(spec.network.layers) else "/network/readout"
        )
        for at, number in enumerate(field_of(layer, "residual")):
            pointer = f"{place}/residual/{at}"
            if number > convolutions:
                continue
            if index > convolutions:
                detail = (
                    f"{shown[number]} is a convolution and {shown[index]} is not: spikes are added "
                    "site by site"
                )
                yield Problem(pointer, "inconsistent", detail)
            elif images[number] != images[index]:
                detail = (
                    f"{shown[number]} sends {images[number]} and {shown[index]} {images[index]} "
                    "(height x width x channels): spikes are added site by site"
                )
                yield Problem(pointer, "inconsistent", detail)
            elif input_scale(layers[number - 1]) != input_scale(layers[index - 1]):
                detail = (
                    f"the pools of {shown[number]} and {shown[index]} are not both sums or "
                    "averages of as many neurons: choose the same"
                )
                yield Problem(pointer, "inconsistent", detail)


def delay_problems(spec: ExperimentSpec) -> Iterator[Problem]:
    """Yields delays after which no spike arrives, or which take too much memory."""
    yield from _problems_of_connections(spec)
    network, steps = spec.network, spec.data.steps
    layers = [*network.layers, network.readout]
    arrivals = [0]  # steps after which spikes can arrive at the input and the layers
    for index, (layer, delay) in enumerate(zip(layers, input_delays(network), strict=True)):
        place = f"/network/layers/{index}" if index < len(network.layers) else "/network/readout"
        is_own = layer.delay is not None
        senders = [index, *field_of(layer, "residual")]
        arrivals.append(delay + min(arrivals[sender] for sender in senders))
        if delay and 0 < steps <= arrivals[-1]:
            pointer = f"{place}/delay" if is_own else "/network/delay"
            detail = (
                f"spikes of the input take {arrivals[-1]:,} steps to {place}, and none arrives "
                f"within the {steps:,} steps of a sample: lower it"
            )
            yield Problem(pointer, "inconsistent", detail)
            return


def _problems_of_connections(spec: ExperimentSpec) -> Iterator[Problem]:
    """Yields delays of connections that are too long, or too many."""
    network = spec.network
    layers = [*network.layers, network.readout]
    all_senders, sizes = senders_of(spec), layer_sizes(spec)
    most = MAX_SENDERS if isinstance(spec.device, CPUDevice) else MOST_SENDERS
    for index, layer in enumerate(layers):
        delays = field_of(layer, "delays")
        if delays is None:
            continue
        place = f"/network/layers/{index}" if index < len(network.layers) else "/network/readout"
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
        weights = taps * senders * neurons
        if is_conv(layer):
            weights = taps * prod(conv_geometries(spec)[index].weights)
        if weights > MAX_TAPPED_WEIGHTS:
            takes = (
                f"{each} to {neurons:,} neurons take "
                f"{4 * weights / 2**20:,.0f} MiB in a training step, of at most "
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


def equations_problems(spec: ExperimentSpec) -> Iterator[Problem]:
    """Yields states of neurons that run as equations and do not fit."""
    values = 0
    for index, neurons in enumerate(hidden_sizes(spec)):
        stored = stored_states(spec, index)
        values += neurons * (1 + stored) if stored else 0  # and its current
    values *= spec.data.steps * spec.training.batch_size
    if values > MAX_VALUES:
        detail = (
            f"the states of a batch in all steps are {values:,} numbers; at most {MAX_VALUES:,} "
            "are allowed: use a smaller batch"
        )
        yield Problem("/training/batch_size", "too_large", detail)
