"""Where a training's memory went: what was measured, and what follows from the sizes."""

from __future__ import annotations

import resource
from typing import Any, Dict

import numpy as np

from ipulse.spec import CPUDevice, ExperimentSpec
from ipulse_ops.lif.cpu.native import bits_bytes
from ipulse_worker.runner.model.network import Gates, spiking_neurons
from ipulse_worker.runner.training.loop import Training


def memory(training: Training, gradient_shares: np.ndarray) -> Dict[str, Any]:
    """The part of the profile. `gradient_shares`: on the held-out samples, float64 `[layers]`."""
    spec, batch = training.spec, training.spec.training.batch_size
    weights = sum(array.nbytes for array in training.model.trained)
    slots = training.model.optimizer.slots
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024  # Linux counts in KiB
    saved = saved_for_backward(spec, training.model.gates, gradient_shares)
    full = full_history(spec)
    return {
        "peakRss": {"bytes": peak, "how": "measured: the whole process, TensorFlow included"},
        "weights": {"bytes": weights, "how": "measured: the arrays"},
        "optimizer": {
            "bytes": len(slots) * weights,
            "how": f"computed: {len(slots)} numbers for every weight",
        },
        "savedForBackward": {
            "bytes": saved,
            "bytes_per_sample": saved / batch,
            "how": "computed: of a full batch, a float32 for every neuron and step in the gradient "
            "set at its share on the held-out samples, unless the layers are run again, and the "
            "kernel's sets of bits",
        },
        "fullHistory": {
            "bytes": full,
            "bytes_per_sample": full / batch,
            "how": "computed: what storing every membrane of every step instead would take",
        },
    }


def saved_for_backward(spec: ExperimentSpec, gates: Gates, gradient_shares: np.ndarray) -> int:
    """Bytes that the forward kernel keeps for the backward kernel, of one full batch.

    Of each layer: the membranes of the gradient set, unless they are computed again; and one bit
    per neuron and step, in whole rows of the kernels, for who is above the threshold, for who
    carries gradient unless all do, and for who was emitted unless every neuron has a slot. Where
    all carry gradient the kernels fill up their last vectors, which is not counted.
    """
    steps, batch = spec.data.steps, spec.training.batch_size
    device = spec.device
    recomputes = isinstance(device, CPUDevice) and device.memory == "recompute"
    membrane = 0 if recomputes else 4
    total = 0.0
    for neurons, capacity, second, share in zip(
        spiking_neurons(spec), gates.capacities, gates.second_thresholds, gradient_shares.tolist()
    ):
        total += steps * batch * neurons * membrane * share
        total += bits_bytes(steps, batch, neurons, capacity or neurons, second is not None)
    return round(total)


def full_history(spec: ExperimentSpec) -> int:
    """Bytes of every membrane of the spiking layers at every step, of one full batch."""
    return 4 * spec.data.steps * spec.training.batch_size * sum(spiking_neurons(spec))
