"""The rules between a network of several programs, the training and the device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ipulse.spec.device import CPUDevice, EmulatorDevice, IPUDevice
from ipulse_core.errors import Problem
from ipulse_core.spec.conv_layers import conv_layers, hidden_sizes, scale_before
from ipulse_core.spec.custom_ops import indexed_ops
from ipulse_core.spec.neuron_packages import package_layers
from ipulse_core.spec.part_layers import (
    equation_layers,
    indexed_equations,
    part_layers,
    part_name,
)
from ipulse_core.spec.stretches import runs_in_parts

if TYPE_CHECKING:
    from ipulse.spec.experiment import ExperimentSpec
    from ipulse.spec.network.network import NetworkSpec

MAX_VALUES = 2**31  # of all states in all steps of a batch
_NOT_RAMPED = (
    "training.second_threshold_ramp changes second thresholds, and no gate: remove the gate or "
    "the ramp"
)


def part_problems(spec: ExperimentSpec) -> Iterator[Problem]:
    """Yields what cannot be combined with convolutions, custom ops and layers with equations."""
    device = spec.device
    if runs_in_parts(spec.network) and isinstance(device, (EmulatorDevice, IPUDevice)):
        yield from _problems_on_tiles(spec.network, device)
    if not part_layers(spec.network):
        return
    parts = part_name(spec.network)
    if isinstance(device, IPUDevice):
        yield from _problems_on_ipus(spec)
    for number, bound in enumerate(spec.training.regularisers):
        if bound.kind == "membrane":
            detail = f"membranes cannot be bounded in a network with {parts}: remove it"
            yield Problem(f"/training/regularisers/{number}/kind", "unsupported", detail)
    yield from _problems_of_ops(spec)
    if equation_layers(spec.network):
        yield from _problems_of_equations(spec)
    for index, _ in package_layers(spec.network):
        if not isinstance(device, CPUDevice):
            detail = (
                f"packages of neurons run on the device cpu: their kernels are code for it; got "
                f"{device.kind}"
            )
            yield Problem(f"/network/layers/{index}/kind", "unsupported", detail)
    if package_layers(spec.network) and not equation_layers(spec.network):
        yield from _problems_of_weights(spec)


def _problems_on_tiles(
    network: NetworkSpec, device: EmulatorDevice | IPUDevice
) -> Iterator[Problem]:
    """Yields what only a network of one program has on tiles."""
    parts = part_name(network) if part_layers(network) else "convolutions"
    if device.ipus != 1:
        detail = f"a network with {parts} is on one IPU; got {device.ipus}: set it to 1"
        yield Problem("/device/ipus", "unsupported", detail)
    if isinstance(device, EmulatorDevice) and device.training == "device":
        detail = f"the loss of a network with {parts} is on the host: set it to host"
        yield Problem("/device/training", "unsupported", detail)
    if device.states_dtype != "float32":
        detail = f"the states of a network with {parts} are float32: remove it"
        yield Problem("/device/states_dtype", "unsupported", detail)


def _problems_of_ops(spec: ExperimentSpec) -> Iterator[Problem]:
    """Yields average pools in front of custom ops, and ops behind convolutions on IPUs."""
    for index, _ in indexed_ops(spec.network):
        if scale_before(spec, index) != 1.0:
            detail = (
                "an average divides the input weights of the layer behind it, and a custom op has "
                "none: choose sum"
            )
            yield Problem(f"/network/layers/{index - 1}/pool/kind", "unsupported", detail)
        if conv_layers(spec.network) and isinstance(spec.device, IPUDevice):
            detail = (
                "custom ops and convolutions are not in one network on ipu: use device kind cpu or "
                "emulator"
            )
            yield Problem(f"/network/layers/{index}/kind", "unsupported", detail)


def _problems_on_ipus(spec: ExperimentSpec) -> Iterator[Problem]:
    for index, _ in indexed_equations(spec.network):
        detail = "equations run on the devices cpu and emulator; got ipu"
        yield Problem(f"/network/layers/{index}/kind", "unsupported", detail)
    if indexed_ops(spec.network) and spec.device.connection_type == "PRE_COMPILE":
        detail = (
            "a training with custom ops has an executable cache of its own, which ends with it: "
            "use another connection type, such as NEVER to see whether it compiles"
        )
        yield Problem("/device/connection_type", "unsupported", detail)


def _problems_of_weights(spec: ExperimentSpec) -> Iterator[Problem]:
    if isinstance(spec.device, CPUDevice) and spec.device.weights_dtype != "float32":
        detail = f"the weights of a network with {part_name(spec.network)} are float32: remove it"
        yield Problem("/device/weights_dtype", "unsupported", detail)


def _problems_of_equations(spec: ExperimentSpec) -> Iterator[Problem]:
    yield from _problems_of_weights(spec)
    if spec.network.surrogate.name == "table":
        detail = "a table is no surrogate of neurons with equations: choose another shape"
        yield Problem("/network/surrogate/name", "unsupported", detail)
    if spec.training.second_threshold_ramp is not None:
        for index, layer in indexed_equations(spec.network):
            if layer.gate is not None:
                yield Problem(f"/network/layers/{index}/gate", "unsupported", _NOT_RAMPED)
    neurons = hidden_sizes(spec)
    values = sum(
        neurons[index] * (len(layer.neuron.states) + 2)
        for index, layer in indexed_equations(spec.network)
    )
    stored = values * spec.data.steps * spec.training.batch_size
    if stored > MAX_VALUES:
        detail = (
            f"the states of a batch in all steps are {stored:,} numbers; at most {MAX_VALUES:,} "
            "are allowed: use a smaller batch"
        )
        yield Problem("/training/batch_size", "too_large", detail)
