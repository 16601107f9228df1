"""The limits of a training step that runs on the device as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ipulse.models import StrictModel
from ipulse_core.errors import Problem
from ipulse_core.spec.derived_values import has_own_loss, reads_spikes
from ipulse_core.spec.device_training import DEVICE_LOSSES
from ipulse_core.spec.stretches import runs_in_parts

if TYPE_CHECKING:
    from ipulse.spec.experiment import ExperimentSpec

# The fields that may have any value; all others must have their defaults.
_OF_LAYER = frozenset(
    {
        *("kind", "neurons", "decay", "gain", "bias", "synapse_decay", "threshold"),
        *("second_threshold", "capacity", "policy", "recurrent"),
    }
)
_OF_NETWORK = frozenset(
    {
        *("layers", "readout", "surrogate", "reset", "reset_on", "reset_gradient", "delay"),
        *("initial", "initial_membrane_std"),
    }
)
_OF_TRAINING = frozenset(
    {
        *("epochs", "batch_size", "augmentation", "optimizer", "schedule", "loss"),
        *("spike_targets", "first_spike_ms", "second_threshold_ramp", "early_stopping"),
        *("checkpoint_epochs",),
    }
)


def device_training_problems(spec: ExperimentSpec) -> Iterator[Problem]:
    """Yields the parts of a spec that need device.training to be host."""
    training, network = spec.training, spec.network
    if runs_in_parts(network):
        return  # part_problems refuses the whole network
    if has_own_loss(training):
        if reads_spikes(training):
            detail = "the device computes losses of the membrane: use a leaky readout, or set "
            yield Problem("/training/loss", "unsupported", f"{detail}device.training to host")
    elif training.loss not in DEVICE_LOSSES:
        detail = f"the device computes {', '.join(DEVICE_LOSSES)}: choose one of these, or set "
        yield Problem("/training/loss", "unsupported", f"{detail}device.training to host")
    yield from _others("/training", training, _OF_TRAINING)
    yield from _others("/network", network, _OF_NETWORK)
    for number, layer in enumerate(network.layers):
        yield from _others(f"/network/layers/{number}", layer, _OF_LAYER)
    yield from _others("/network/readout", network.readout, _OF_LAYER)


def _others(pointer: str, part: StrictModel, known: frozenset[str]) -> Iterator[Problem]:
    for name, field in type(part).model_fields.items():
        default = field.get_default(call_default_factory=True)
        if name not in known and getattr(part, name) != default:
            detail = f"{name} is not part of a training step on the device: remove it, or set "
            yield Problem(f"{pointer}/{name}", "unsupported", f"{detail}device.training to host")
