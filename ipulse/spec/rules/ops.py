"""The rules between custom ops in a network, the training and the device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ipulse.spec.device import EmulatorDevice, IPUDevice
from ipulse_core.errors import Problem
from ipulse_core.op_manifest.layer import indexed_ops

if TYPE_CHECKING:
    from ipulse.spec.experiment import ExperimentSpec


def op_problems(spec: ExperimentSpec) -> Iterator[Problem]:
    """Yields what cannot be combined with custom ops."""
    ops, device = indexed_ops(spec.network), spec.device
    if not ops:
        return
    if isinstance(device, IPUDevice):
        for index, _ in ops:
            detail = (
                "custom ops run on the devices cpu and emulator; got ipu, where TensorFlow loads "
                "an op into the training's own process, outside of any sandbox"
            )
            yield Problem(f"/network/layers/{index}/op", "unsupported", detail)
    elif isinstance(device, EmulatorDevice):
        if device.ipus != 1:
            detail = f"a network with custom ops is on one emulated IPU; got {device.ipus}"
            yield Problem("/device/ipus", "unsupported", detail)
        if device.training == "device":
            detail = "the loss of a network with custom ops is on the host: set it to host"
            yield Problem("/device/training", "unsupported", detail)
    for number, bound in enumerate(spec.training.regularisers):
        if bound.kind == "membrane":
            detail = "membranes cannot be bounded in a network with custom ops: remove it"
            yield Problem(f"/training/regularisers/{number}/kind", "unsupported", detail)
