"""Convolutions in NIR files become dense matrices."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nir
import numpy as np
import pytest

from ipulse_core.nir.hdf5_file import NirNode
from ipulse_core.nir.linear_nodes import map_of
from ipulse_core.spec.conv_layers import conv_geometries
from tests.worker.runner.nir.test_import import SEED, chain, imported, li, lif, linear, sink, source
from tests.worker.runner.trainings import spec_of


def test_a_convolution_with_a_pool_is_a_dense_matrix(tmp_path: Path) -> None:
    random = np.random.RandomState(SEED)
    conv = nir.Conv2d(
        input_shape=(6, 5),
        weight=random.randn(4, 1, 3, 2).astype(np.float32),
        stride=(2, 1),
        padding=(1, 0),
        dilation=(1, 2),
        groups=2,
        bias=random.randn(4).astype(np.float32),
    )
    pool = nir.SumPool2d(
        kernel_size=np.array([2, 2]), stride=np.array([1, 1]), padding=np.array([0, 0])
    )
    # [2, 6, 5] -> [4, 3, 3] -> [4, 2, 2]
    nodes = {
        "input": source(2, 6, 5),
        "conv": conv,
        "n1": lif((4, 3, 3), v_threshold=1 + np.arange(36).reshape(4, 3, 3)),
        "pool": pool,
        "flat": nir.Flatten(input_type={"input": np.array([4, 2, 2])}, start_dim=0, end_dim=-1),
        "w2": linear(16, 2),
        "n2": li(2),
        "output": sink(2),
    }
    names = ["input", "conv", "n1", "pool", "flat", "w2", "n2", "output"]
    found = imported(tmp_path, nodes, chain(*names))
    assert (found.inputs, found.network["layers"][0]["neurons"]) == (60, 36)
    image, spikes = random.randn(2, 6, 5), random.randn(4, 3, 3)
    padded = np.pad(image, [(0, 0), (1, 1), (0, 0)])
    expected = np.zeros((4, 3, 3))
    for out in range(4):
        for y in range(3):
            for x in range(3):
                window = padded[out // 2, 2 * y : 2 * y + 3, x : x + 3 : 2]
                expected[out, y, x] = (window * conv.weight[out, 0]).sum() + conv.bias[out]
    actual = image.ravel() @ found.weights["layer_1"] + found.weights["layer_1_bias"]
    np.testing.assert_allclose(actual, expected.ravel(), rtol=1e-5, err_msg=f"seed {SEED}")
    pooled = sum(spikes[:, y : y + 2, x : x + 2] for y in (0, 1) for x in (0, 1))
    np.testing.assert_allclose(
        spikes.ravel() @ found.weights["readout"],
        nodes["w2"].weight @ pooled.ravel(),
        rtol=1e-5,
    )
    assert any("dense matrix" in note for note in found.notes)


@pytest.mark.parametrize(
    ("padding", "stride", "expected"),
    [((1, 1), (2, 2), 1), ((1, 0), (2, 1), [1, 0]), ((1, 1), (1, 1), "same"), ((3, 3), (1, 1), 3)],
)
def test_a_convolution_keeps_its_padding(
    padding: Any, stride: Any, expected: Any, tmp_path: Path
) -> None:
    weight = np.ones((4, 2, 3, 3), np.float32)
    fields = {"dilation": (1, 1), "groups": 1, "bias": np.zeros(4, np.float32)}
    conv = nir.Conv2d((8, 8), weight, stride=stride, padding=padding, **fields)
    high, wide = ((8 + 2 * p - 3) // s + 1 for p, s in zip(padding, stride))
    nodes = {
        "input": source(2, 8, 8),
        "conv": conv,
        "n1": lif((4, high, wide)),
        "flat": nir.Flatten({"input": np.array([4, high, wide])}, start_dim=0, end_dim=-1),
        "w2": linear(4 * high * wide, 2),
        "n2": li(2),
        "output": sink(2),
    }
    found = imported(tmp_path, nodes, chain(*nodes))
    assert found.network["layers"][0]["padding"] == expected
    data = {"kind": "npz", "name": "a", "channels": 128, "shape": [2, 8, 8], "steps": 9}
    spec = spec_of(data={**data, "classes": 2}, network=found.network)
    [geometry] = conv_geometries(spec)
    assert (geometry.padding, geometry.size) == (padding, (high, wide))


@pytest.mark.parametrize("delay_s", [0.001, 0.003])
def test_spikes_of_a_convolution_may_be_delayed(delay_s: float, tmp_path: Path) -> None:
    random = np.random.RandomState(SEED)
    conv = nir.Conv2d(
        input_shape=(6, 6),
        weight=random.randn(4, 1, 3, 3).astype(np.float32),
        stride=(1, 1),
        padding=(0, 0),
        dilation=(1, 1),
        groups=1,
        bias=np.zeros(4, np.float32),
    )
    nodes = {
        "input": source(1, 6, 6),
        "conv": conv,
        "n1": lif((4, 4, 4)),
        "wait": nir.Delay(delay=np.full((4, 4, 4), delay_s)),
        "flat": nir.Flatten(input_type={"input": np.array([4, 4, 4])}, start_dim=0, end_dim=-1),
        "w2": linear(64, 2),
        "n2": li(2),
        "output": sink(2),
    }
    found = imported(tmp_path, nodes, chain(*nodes))
    assert [layer.get("kind", "dense") for layer in found.network["layers"]] == ["conv2d"]
    data = {"kind": "npz", "name": "a", "channels": 36, "shape": [1, 6, 6], "steps": 9}
    spec = spec_of(data={**data, "classes": 2}, network=found.network)
    assert spec.network.delay == round(delay_s / 0.001)


def test_a_convolution_in_one_dimension_and_an_average(tmp_path: Path) -> None:
    values = np.random.RandomState(SEED).randn(3, 8)
    weight = np.random.RandomState(SEED + 1).randn(2, 3, 3)
    fields = {
        "weight": weight,
        "bias": np.zeros(2),
        "stride": np.array(2),
        "padding": "valid",
        "dilation": np.array(1),
        "groups": np.array(1),
    }
    mapped = map_of([NirNode("c", "Conv1d", fields)], (3, 8))
    assert mapped.shape == (2, 3)
    expected = [
        [(values[:, 2 * x : 2 * x + 3] * weight[out]).sum() for x in range(3)] for out in range(2)
    ]
    np.testing.assert_allclose(values.ravel() @ mapped.dense, np.ravel(expected))
    pair = {name: np.array(2) for name in ("kernel_size", "stride")}
    pool = NirNode("p", "AvgPool2d", {**pair, "padding": np.array(0)})
    average = map_of([pool], (1, 4, 4))
    np.testing.assert_allclose(np.ones(16) @ average.dense, np.ones(4))
