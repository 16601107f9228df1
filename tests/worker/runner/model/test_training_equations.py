"""Losses and regularisers with a name are equal to the equations that tiles compute."""

from __future__ import annotations

from typing import Any, Dict, List

import numpy as np
import pytest
import tensorflow as tf

from ipulse_core.spec.derived_values import REGRESSION_LOSSES, SPIKE_LOSSES
from ipulse_core.spec.training_equations import LOSSES, training_equations
from ipulse_ops.equations.loss import LossEvaluator
from ipulse_ops.keras import LIFOutputs
from ipulse_ops.training.spike_totals import spike_totals, spike_trains
from ipulse_worker.runner.model.objective import Objective
from tests.worker.runner.specs import spec_from

STEPS, BATCH, CLASSES, NEURONS = 5, 4, 3, 7
BOUNDS: List[Dict[str, Any]] = [
    {"kind": "lower", "spikes": 2.0, "strength": 0.1},
    {"kind": "upper", "spikes": 0.5, "strength": 0.2, "power": 2},
    {"kind": "upper", "spikes": 0.5, "strength": 0.2, "power": 1},
    {"kind": "membrane", "low": -0.5, "high": 0.5, "strength": 0.3, "readout": True},
]


def spec_of(loss: str) -> Any:
    data: Dict[str, Any] = {"kind": "npz", "name": "a.npz", "channels": 6, "steps": STEPS}
    data.update({"outputs" if loss in REGRESSION_LOSSES else "classes": CLASSES})
    readout = {"kind": "spiking" if loss in SPIKE_LOSSES else "leaky"}
    return spec_from(
        {
            "version": 1,
            "data": data,
            "network": {"layers": [{"neurons": NEURONS}], "readout": readout},
            "training": {"loss": loss, "regularisers": BOUNDS},
        }
    )


def slots(rng: Any, neurons: int) -> Any:
    """Return ids and counts of random spikes, without slots for gradients alone."""
    ids = np.argsort(rng.random((STEPS, BATCH, neurons)), axis=2).astype(np.float32)
    counts = rng.integers(0, neurons + 1, (STEPS, BATCH, 1)).repeat(2, axis=2)
    return tf.constant(ids), tf.constant(counts, tf.float32)


@pytest.mark.old_python
@pytest.mark.parametrize("loss", LOSSES)
def test_losses_and_regularisers_are_their_equations(loss: str) -> None:
    spec, rng = spec_of(loss), np.random.default_rng(7)
    sizes = [NEURONS, CLASSES]
    membranes = [tf.constant(rng.normal(size=(STEPS, BATCH, size)), tf.float32) for size in sizes]
    ids, counts = zip(*(slots(rng, size) for size in sizes))
    spikes = [spike_trains(ids[at], counts[at], sizes[at]) for at in (0, 1)]
    out = LIFOutputs(
        membrane=membranes[1],
        spike_ids=list(ids),
        spike_counts=list(counts),
        dropped=[],
        membranes=membranes[:1],
    )
    shape = {"step_mse": (BATCH, STEPS, CLASSES)}.get(loss, (BATCH, CLASSES))
    right: Any = rng.integers(0, CLASSES, BATCH).astype(np.int32)
    if loss in REGRESSION_LOSSES:
        right = rng.normal(size=shape).astype(np.float32)
    known = {
        "membrane": membranes[1],
        "spike_count": spike_totals(ids[1], counts[1], CLASSES),
        "readout.membrane": membranes[1],
        "layers[0].membrane": membranes[0],
        "layers[0].spikes": spikes[0],
    }
    known = {name: np.asarray(array) for name, array in known.items()}

    def value(equations: Any) -> Any:
        read = {name: known[name] for name in equations.reads & {"membrane", "spike_count"}}
        read.update((each.key, known[each.key]) for _, each in equations.layers)
        return LossEvaluator(equations, CLASSES, STEPS)(read, right).loss

    objective, (equations, penalties) = Objective(spec), training_equations(spec)
    by_sample, _ = objective.evaluate(out, tf.constant(right))
    np.testing.assert_allclose(value(equations), by_sample, rtol=2e-6)
    total = sum(strength * value(penalty).mean() for strength, penalty in penalties)
    np.testing.assert_allclose(total, objective.penalty(out, tf.constant(right)), rtol=2e-6)
