"""What a training step that runs on the device as a whole cannot do."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ipulse_core.errors import Problem
from ipulse_core.spec.device_training import DEVICE_LOSSES

if TYPE_CHECKING:
    from .experiment import ExperimentSpec

_HINT = "remove it, or set device.training to host"


def device_training_problems(spec: "ExperimentSpec") -> Iterator[Problem]:
    """Yields the parts of a spec that need device.training to be host."""
    training, network = spec.training, spec.network
    if training.loss not in DEVICE_LOSSES:
        detail = f"the device computes {', '.join(DEVICE_LOSSES)}: choose one of these, or set "
        yield Problem("/training/loss", "unsupported", f"{detail}device.training to host")
    if training.regularisers:
        detail = f"regularisers are not computed on the device: {_HINT}"
        yield Problem("/training/regularisers", "unsupported", detail)
    clipping = training.gradient_clipping
    if clipping.value is not None or clipping.global_norm is not None:
        detail = f"gradients are not clipped on the device: {_HINT}"
        yield Problem("/training/gradient_clipping", "unsupported", detail)
    if network.trainable:
        detail = f"constants are not trained on the device: {_HINT}"
        yield Problem("/network/trainable", "unsupported", detail)
    for number, layer in enumerate(network.layers):
        if not layer.trainable:
            detail = f"all layers are trained on the device: {_HINT}"
            yield Problem(f"/network/layers/{number}/trainable", "unsupported", detail)
    if not network.readout.trainable:
        detail = f"all layers are trained on the device: {_HINT}"
        yield Problem("/network/readout/trainable", "unsupported", detail)
