"""The rules between layers with equations, the other layers, the training and the device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ipulse.spec.device import EmulatorDevice, IPUDevice
from ipulse_core.errors import Problem
from ipulse_core.spec.part_layers import equation_layers, indexed_equations

if TYPE_CHECKING:
    from ipulse.spec.experiment import ExperimentSpec

MAX_VALUES = 2**31  # of all states in all steps of a batch


def equations_problems(spec: ExperimentSpec) -> Iterator[Problem]:
    """Yields what cannot be combined with layers with equations."""
    layers, device = indexed_equations(spec.network), spec.device
    if not layers:
        return
    if isinstance(device, IPUDevice):
        for index, _ in layers:
            detail = "equations run on the devices cpu and emulator; got ipu"
            yield Problem(f"/network/layers/{index}/kind", "unsupported", detail)
    elif isinstance(device, EmulatorDevice):
        if device.ipus != 1:
            detail = f"a network with equations is on one emulated IPU; got {device.ipus}"
            yield Problem("/device/ipus", "unsupported", detail)
        if device.training == "device":
            detail = "the loss of a network with equations is on the host: set it to host"
            yield Problem("/device/training", "unsupported", detail)
    elif device.weights_dtype != "float32":
        detail = "the weights of a network with equations are float32: remove it"
        yield Problem("/device/weights_dtype", "unsupported", detail)
    if spec.network.surrogate.name == "table":
        detail = "a table is no surrogate of neurons with equations: choose another shape"
        yield Problem("/network/surrogate/name", "unsupported", detail)
    for number, bound in enumerate(spec.training.regularisers):
        if bound.kind == "membrane":
            detail = "membranes cannot be bounded in a network with equations: remove it"
            yield Problem(f"/training/regularisers/{number}/kind", "unsupported", detail)
    values = sum(
        layer.neurons * (len(layer.neuron.states) + 2) for layer in equation_layers(spec.network)
    )
    stored = values * spec.data.steps * spec.training.batch_size
    if stored > MAX_VALUES:
        detail = (
            f"the states of a batch in all steps are {stored:,} numbers; at most {MAX_VALUES:,} "
            "are allowed: use a smaller batch"
        )
        yield Problem("/training/batch_size", "too_large", detail)
