"""Rules between quantised weights and the device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ipulse.spec.device import CPUDevice, IPUDevice
from ipulse_core.errors import Problem
from ipulse_core.spec.kind_fields import field_of

if TYPE_CHECKING:
    from ipulse.spec.experiment import ExperimentSpec


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
