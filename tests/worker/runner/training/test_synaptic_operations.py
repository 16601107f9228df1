"""Synaptic operations: the worked example, random connections, and those of an evaluation."""

from __future__ import annotations

from typing import Any, Dict, List, Tuple

import numpy as np
import pytest

from ipulse_core.spec.conv_geometry import Planes, conv_geometry
from ipulse_worker.runner.training.evaluation import evaluate
from ipulse_worker.runner.training.synaptic_operations import (
    OperationCounter,
    conv_fan_out,
    operations,
    summary_of,
)
from tests.worker.runner.specs import spec_from
from tests.worker.runner.trainings import spec_of, training_of

Lists = List[Tuple[np.ndarray, np.ndarray]]

WORKED: Dict[str, Any] = {
    "version": 1,
    "data": {"kind": "npz", "dataset": "x", "shape": [1, 4, 4], "steps": 2, "classes": 2},
    "network": {
        "layers": [
            {
                "kind": "conv2d",
                "filters": 2,
                "kernel_size": 3,
                "padding": "same",
                "pool": {"kind": "sum", "pool_size": 2},
            },
            {"neurons": 3},
        ]
    },
}


def lists_of(steps: List[List[List[int]]]) -> Tuple[np.ndarray, np.ndarray]:
    """Ids of spikes by step and sample as padded arrays, with their counts."""
    most = max(len(ids) for step in steps for ids in step)
    ids = np.array([[[*s, *[0] * (most - len(s))] for s in step] for step in steps], np.int32)
    return ids.reshape(len(steps), len(steps[0]), most), np.array(
        [[len(s) for s in step] for step in steps]
    )


def test_the_worked_example_has_its_published_counts() -> None:
    spec = spec_from(WORKED)
    counter = OperationCounter(spec)
    events, first, second = [[[0, 5]], [[13]]], [[[0, 10]], [[26]]], [[[0]], [[]]]
    counter.add([lists_of(events), lists_of(first), lists_of(second)])
    weights = {
        "layer_1": np.ones((3, 3, 1, 2)),
        "layer_2": np.ones((8, 3)),
        "readout": np.ones((3, 2)),
    }
    found = operations(spec, counter, weights, 0, 4.0, 0.0)
    assert [layer["dense"] for layer in found["layers"]] == [400, 48, 12]
    assert [layer["total_synops"] for layer in found["layers"]] == [38, 9, 2]
    assert [layer["total_effective"] for layer in found["layers"]] == [38, 6, 2]
    assert found["layers"][0]["synops_by_step"] == [26, 12]
    assert found["activation_sparsity"] == 1 - 4 / 74
    assert (found["neuron_updates"], found["parameters"]) == (74, 48)
    arithmetic, on_chip = found["energy"]
    assert arithmetic["nj"] == pytest.approx(49 * 0.9 / 1e3)
    assert arithmetic["dense_nj"] == pytest.approx(460 * 4.6 / 1e3)
    assert on_chip["nj"] == pytest.approx((49 * 27.1 + 74 * 81) / 1e3)
    assert summary_of(found)["synops"] == 49
    weights["layer_2"][0] = 0  # the row of the pooled value 2
    again = operations(spec, counter, weights, 0, 4.0, 0.0)
    assert (again["total_synops"], again["total_effective"]) == (49, 43)
    assert again["connection_sparsity"] == 3 / 48


@pytest.mark.parametrize("seed", range(8))
def test_the_fan_out_of_a_convolution_is_that_of_its_loops(seed: int) -> None:
    rng = np.random.default_rng(seed)
    groups = int(rng.choice([1, 2]))
    entering = Planes(*rng.integers(4, 7, 2), 2 * groups, channels_first=bool(rng.integers(2)))
    geometry = conv_geometry(
        entering,
        4,
        kernel=(int(rng.integers(1, 4)), int(rng.integers(1, 4))),
        strides=(int(rng.integers(1, 3)), int(rng.integers(1, 3))),
        padding=(int(rng.integers(3)), int(rng.integers(3))) if seed % 2 else "same",
        dilation=(int(rng.integers(1, 3)), 1),
        groups=groups,
    )
    counted = rng.random(geometry.weights) < 0.7
    expected = np.zeros(entering.sites, np.int64)
    per_group, filters = entering.channels // groups, 4 // groups
    for y in range(geometry.size[0]):
        for x in range(geometry.size[1]):
            for f in range(4):
                for ky, kx, c in np.ndindex(*geometry.weights[:3]):
                    row = y * geometry.strides[0] - geometry.padding[0] + geometry.dilation[0] * ky
                    column = x * geometry.strides[1] - geometry.padding[1]
                    column += geometry.dilation[1] * kx
                    if not (0 <= row < entering.height and 0 <= column < entering.width):
                        continue
                    channel = f // filters * per_group + c
                    at = (row * entering.width + column) * entering.channels + channel
                    if entering.channels_first:
                        at = (channel * entering.height + row) * entering.width + column
                    expected[at] += counted[ky, kx, c, f]
    assert conv_fan_out(geometry, counted).tolist() == expected.tolist()


def test_spikes_that_a_delay_keeps_from_arriving_cost_nothing() -> None:
    layers = [{"neurons": 3, "recurrent": True}, {"neurons": 2, "delay": 1}]
    spec = spec_of(network={"layers": layers}, data={"kind": "poisson", "steps": 3})
    counter = OperationCounter(spec)
    quiet: Lists = [lists_of([[[]], [[]], [[]]])]
    counter.add([*quiet, lists_of([[[0, 1]], [[]], [[2]]]), *quiet])
    by_matrix = {each.matrix: each.by_step.tolist() for each in counter.connections}
    assert by_matrix["layer_1_recurrent"] == [0, 6, 0]  # the spike of the last step is too late
    assert by_matrix["layer_2"] == [0, 4, 0]


def test_an_evaluation_counts_what_its_profile_says() -> None:
    spec = spec_of(training={"epochs": 1, "batch_size": 32})
    training = training_of(spec)
    evaluation = evaluate(training.model, training.dataset, spec, counts_operations=True)
    assert evaluation.operations is not None
    found = operations(spec, evaluation.operations, training.model.arrays, 0, 1.0, 0.0)
    spikes = evaluation.spikes_by_step.sum(axis=1)
    expected = [evaluation.input_spikes_by_step.sum() * 20, spikes[0] * 16, spikes[1] * 10]
    assert [layer["synops"] for layer in found["layers"]] == pytest.approx(expected)
    assert found["samples"] == len(training.dataset.test)
    assert found["synops"] < found["dense"]
    assert evaluate(training.model, training.dataset, spec).operations is None


def test_a_network_that_cannot_be_counted_says_why() -> None:
    layers = [{"neurons": 3, "delays": {"longest": 4}}]
    spec = spec_of(network={"layers": layers})
    found = operations(spec, None, {"layer_1": np.ones((64, 3))}, 12, 0.0, 0.0)
    assert "delays" in found["not_counted"]
    assert "synops" not in summary_of(found)
    assert found["footprint_bytes"] == 12
