"""Recurrent convolutions in NIR files: exported, imported again, and imported as matrices."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, List, Sequence

import nir
import numpy as np
import pytest

from ipulse_core.nir import importer
from ipulse_core.nir.convolutions import Convolutions
from ipulse_core.nir.discretization import Options
from ipulse_core.nir.importer import import_network
from ipulse_core.nir.linear_map import Shape
from ipulse_core.nir.structure import Unit
from ipulse_core.spec.start_weights import start_shapes
from ipulse_worker.runner.model.model import Model
from ipulse_worker.runner.results.nir_export import nir_exports, write_export
from tests.worker.runner.nir.test_import import chain, imported, lif, linear, sink, source
from tests.worker.runner.trainings import spec_of

STEPS = 14
IMAGE: Dict[str, Any] = {"kind": "npz", "name": "a", "channels": 32, "steps": STEPS, "classes": 4}
SQUARE = {"kind": "conv2d", "filters": 3, "kernel_size": 3, "recurrent": True, "pool": {}}
EVEN = {**SQUARE, "kernel_size": [2, 4], "padding": "same", "bias": True, "pool": None}
FLAT = {"kind": "conv1d", "filters": 3, "kernel_size": 4, "recurrent": True, "bias": True}
NETWORKS: Dict[str, Any] = {
    "square": ([2, 4, 4], SQUARE),
    "even": ([2, 4, 4], EVEN),
    "flat": ([2, 1, 16], FLAT),
}


def spec_for(name: str) -> Any:
    shape, layer = NETWORKS[name]
    export = {"nir": [{"target": "generic"}]}
    layers = [layer, {"neurons": 6}]
    return spec_of(data={**IMAGE, "shape": shape}, network={"layers": layers}, export=export)


def drawn(spec: Any) -> Dict[str, np.ndarray]:
    rng = np.random.default_rng(6)
    shapes = start_shapes(spec).items()
    return {name: rng.normal(0.1, 0.6, shape).astype(np.float32) for name, shape in shapes}


def run(spec: Any, arrays: Dict[str, np.ndarray]) -> List[np.ndarray]:
    """Numbers of spikes of the first layer, and the membranes of the readout."""
    model = Model(spec, 8, 1)
    model.assign(arrays)
    rng = np.random.default_rng(7)
    ids = np.argsort(rng.random((STEPS, 3, 32)), axis=-1)[..., :8].astype(np.uint16)
    counts = rng.integers(0, 9, (STEPS, 3)).astype(np.int32)
    out = model.forward(ids, counts)
    return [np.asarray(out.spike_counts[0])[..., 0], np.asarray(out.membrane)]


def again(found: Any, is_image: bool) -> Any:
    shape = {"shape": list(found.input_shape)} if is_image else {}
    return spec_of(data={**IMAGE, **shape}, network=found.network)


def matrices(chain: Sequence[Unit], shape: Shape, _: Any) -> Convolutions:
    """No convolution: all layers become matrices."""
    return Convolutions([], list(chain), shape)


@pytest.mark.parametrize("name", NETWORKS)
def test_an_export_spikes_as_before(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = spec_for(name)
    arrays = drawn(spec)
    [export] = nir_exports(spec, arrays, dropped_spikes=0)
    write_export(tmp_path / "a.nir", spec, arrays, export, dropped_spikes=0)
    spikes, membrane = run(spec, arrays)
    assert spikes.sum() > 50
    found = import_network(tmp_path / "a.nir", Options())
    first = found.network["layers"][0]
    assert first["recurrent"]
    assert first["kind"] == "conv2d"
    theirs = run(again(found, is_image=True), found.weights)
    monkeypatch.setattr(importer, "leading_convolutions", matrices)
    dense = import_network(tmp_path / "a.nir", Options())
    assert "kind" not in dense.network["layers"][0]
    others = run(again(dense, is_image=False), dense.weights)
    for same in (theirs, others):
        np.testing.assert_array_equal(same[0], spikes)
        np.testing.assert_allclose(same[1], membrane, rtol=1e-4, atol=1e-4)


def graph(loop: Any) -> Dict[str, Any]:
    rng = np.random.default_rng(1)
    weight = rng.normal(size=(3, 2, 3, 3)).astype(np.float32)
    fields = {"stride": (1, 1), "dilation": (1, 1), "groups": 1}
    conv = nir.Conv2d((4, 4), weight, padding=(1, 1), bias=np.zeros(3, np.float32), **fields)
    flat = nir.Flatten(input_type={"input": np.array([3, 4, 4])}, start_dim=0, end_dim=-1)
    nodes = {"input": source(2, 4, 4), "conv": conv, "n1": lif((3, 4, 4)), "loop": loop}
    return {**nodes, "flat": flat, "w2": linear(48, 2), "n2": lif(2), "output": sink(2)}


EDGES = [
    *chain("input", "conv", "n1", "flat", "w2", "n2", "output"),
    ("n1", "loop"),
    ("loop", "n1"),
]


def loop_of(kernel: int, **fields: Any) -> Any:
    rng = np.random.default_rng(2)
    weight = rng.normal(size=(3, 3, kernel, kernel)).astype(np.float32)
    sizes = {"stride": (1, 1), "dilation": (1, 1), "groups": 1, "padding": (kernel // 2,) * 2}
    bias = np.array([0.5, 0, -1], np.float32)
    return nir.Conv2d((4, 4), weight, bias=bias, **{**sizes, **fields})


def test_a_smaller_kernel_of_a_loop_has_zeros_around_it(tmp_path: Path) -> None:
    loop = loop_of(1)
    found = imported(tmp_path, graph(loop), EDGES)
    first = found.network["layers"][0]
    assert first["recurrent"]
    assert first["bias"]
    kernel = found.weights["layer_1_recurrent"]
    np.testing.assert_array_equal(kernel[1, 1], loop.weight[:, :, 0, 0].T)
    assert np.count_nonzero(kernel) == 9
    np.testing.assert_array_equal(found.weights["layer_1_bias"], loop.bias)


@pytest.mark.parametrize("loop", [loop_of(5), loop_of(3, dilation=(2, 2), padding=(2, 2))])
def test_other_kernels_of_loops_are_matrices(loop: Any, tmp_path: Path) -> None:
    found = imported(tmp_path, graph(loop), EDGES)
    assert found.network["layers"][0]["neurons"] == 48
    assert found.weights["layer_1_recurrent"].shape == (48, 48)
