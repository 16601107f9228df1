"""The memory of a training: measured values, and values computed from sizes."""

from __future__ import annotations

import resource
from typing import TYPE_CHECKING, Any, Dict

import numpy as np

from ipulse_core.spec.composed_layers import stored_states
from ipulse_core.spec.conv_layers import is_conv
from ipulse_core.spec.custom_ops import is_op
from ipulse_core.spec.derived_values import input_channels
from ipulse_core.spec.kind_fields import field_of
from ipulse_core.spec.neuron_packages import has_package
from ipulse_ops.lif.cpu.native import bits_bytes
from ipulse_worker.runner.model.network import LayerLimits, spiking_neurons
from ipulse_worker.runner.training.loop import Training

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec


def memory(training: Training, active_gradient_fractions: np.ndarray) -> Dict[str, Any]:
    """Return the `memory` object of profile.json.

    Args:
        training: the finished training.
        active_gradient_fractions: float64 `[layers]`, measured on the test samples.
    """
    spec, batch = training.spec, training.spec.training.batch_size
    weights = sum(array.nbytes for array in training.model.trained)
    slots = training.model.optimizer.slots
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024  # Linux counts in KiB
    saved = saved_for_backward(spec, training.model.limits, active_gradient_fractions)
    full = full_history(spec)
    return {
        "peakRss": {"bytes": peak, "how": "measured: the whole process, including TensorFlow"},
        "weights": {"bytes": weights, "how": "measured: the arrays"},
        "optimizer": {
            "bytes": len(slots) * weights,
            "how": f"computed: {len(slots)} numbers for every weight",
        },
        "savedForBackward": {
            "bytes": saved,
            "bytes_per_sample": saved / batch,
            "how": "computed for a full batch: a float32 per neuron and step with an active "
            "gradient (at the fraction of the test samples) unless device.memory is recompute, "
            "plus the kernel's bit sets; convolutions of LIF neurons store nothing and run again",
        },
        "fullHistory": {
            "bytes": full,
            "bytes_per_sample": full / batch,
            "how": "computed: every membrane at every step, which backpropagation through time "
            "stores without this sparsity",
        },
    }


def saved_for_backward(
    spec: ExperimentSpec, limits: LayerLimits, active_gradient_fractions: np.ndarray
) -> int:
    """Return the bytes that the forward kernel stores for the backward kernel, for a full batch.

    For each layer these are the membranes of the neurons with an active gradient, unless they are
    recomputed, and one bit per neuron and step, in whole rows of the kernels, for each of: above
    the threshold; active gradient, unless all neurons have one; sent, unless the capacity covers
    all neurons. Padding of the last vectors is not counted. Convolutions of LIF neurons
    store nothing unless they run as two ops, custom ops their input and output, and equations the
    states of every step.
    """
    layers = [*spec.network.layers, spec.network.readout]
    senders = [input_channels(spec.data), *spiking_neurons(spec)]
    steps, batch = spec.data.steps, spec.training.batch_size
    device = spec.device
    recomputes = field_of(device, "memory") == "recompute"
    membrane = 0 if recomputes else 4
    total = 0.0
    for at, (neurons, capacity, second, fraction) in enumerate(
        zip(
            spiking_neurons(spec),
            limits.capacities,
            limits.second_thresholds,
            active_gradient_fractions.tolist(),
        )
    ):
        layer: Any = layers[at]
        stored = 0 if at == len(spec.network.layers) else stored_states(spec, at)
        if stored:  # and its current
            total += 4 * steps * batch * neurons * (1 + stored)
            continue
        if is_conv(layer):
            continue
        if is_op(layer):  # its input and output, dense in float32
            total += 4 * steps * batch * (senders[at] + neurons)
            continue
        if has_package(layer):  # its current and its spikes; the package may store more
            total += 4 * steps * batch * neurons * 2
            continue
        total += steps * batch * neurons * membrane * fraction
        total += bits_bytes(steps, batch, neurons, capacity or neurons, second is not None)
    return round(total)


def full_history(spec: ExperimentSpec) -> int:
    """Return the bytes of all membranes of the spiking layers at all steps, for a full batch."""
    return 4 * spec.data.steps * spec.training.batch_size * sum(spiking_neurons(spec))
