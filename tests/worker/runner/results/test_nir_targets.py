from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Dict, List

import h5py
import nir
import numpy as np
import pytest

from ipulse_core.spec.nir_targets import SIMULATORS
from ipulse_ops.lif.reference import network_pass as reference
from ipulse_ops.lif.weights import weight_shapes
from ipulse_ops.reference.spikes import dense_to_sparse, sparse_to_dense
from ipulse_worker.runner.model.network import network_of
from ipulse_worker.runner.model.weight_names import weight_names
from ipulse_worker.runner.results.crossings import Crossings, crossings_of
from ipulse_worker.runner.results.nir_export import nir_exports, write_export
from tests.worker.runner.attempts import attempt
from tests.worker.runner.conftest import SPEC
from tests.worker.runner.data.loaded import loaded
from tests.worker.runner.report.page import Page
from tests.worker.runner.results.test_nir_export import VARIANTS, simulate
from tests.worker.runner.trainings import spec_of

SEED = 12
RUN: Dict[str, List[str]] = {
    "generic": ["recurrent", "bias", "synapse", "spiking", "subtract", "none"],
    "norse": ["bias", "synapse", "spiking", "subtract"],
    "snntorch": ["bias", "synapse"],
    "spikingjelly": ["bias", "one synapse"],
}


THRESHOLDS = [0.9, 1.0] * 10
ONE_DECAY: Dict[str, Dict[str, Any]] = {
    "one synapse": {
        "layers": [{"neurons": 20, "synapse_decay": 0.7, "decay": 0.0, "threshold": THRESHOLDS}],
        "readout": {"kind": "spiking", "synapse_decay": 0.5},
    },
}


class TestSimulation:
    """The simulators themselves are asked in tests/acceptance/simulators."""

    @pytest.mark.parametrize(
        ("target", "variant"), [(target, v) for target in RUN for v in RUN[target]]
    )
    def test_from_the_graph_alone_spikes_alike(
        self, target: str, variant: str, tmp_path: Path
    ) -> None:
        network = {**VARIANTS, **ONE_DECAY}[variant]
        spiking = network.get("readout", {}).get("kind") == "spiking"
        spec = spec_of(
            network=network,
            training={"loss": "spike_count_mse" if spiking else "mean_membrane_cross_entropy"},
            data={"samples": 50, "steps": 25},
            export={"nir": [{"target": target}]},
        )
        ours = network_of(spec)
        random = np.random.RandomState(SEED)
        weights = [
            random.randn(*shape.shape).astype(np.float32) / 2 for shape in weight_shapes(ours)
        ]
        arrays = dict(zip(weight_names(spec), weights))
        [export] = nir_exports(spec, arrays, dropped_spikes=0)
        write_export(tmp_path / "a.nir", spec, arrays, export, dropped_spikes=0)
        inputs = (random.rand(25, 1, 64) < 0.1).astype(np.float32)
        trace = reference.forward(ours, weights, *dense_to_sparse(inputs))
        spikes, _ = simulate(tmp_path / "a.nir", inputs[:, 0])
        for name, layer in zip(["lif_1", "readout"], trace.layers):
            expected = sparse_to_dense(
                layer.spike_ids, layer.spike_counts[..., 0], layer.u.shape[2]
            )
            assert expected.sum() > 3
            np.testing.assert_array_equal(spikes[name], expected[:, 0], err_msg=f"seed {SEED}")

    def test_constants_of_sinabs_are_one_value_for_a_layer(self, tmp_path: Path) -> None:
        spec = spec_of(
            network={"layers": [{"neurons": 2}], "reset": "subtract"},
            export={"nir": [{"target": "sinabs"}]},
        )
        arrays = {
            "layer_1": np.ones((64, 2), np.float32),
            "readout": np.ones((2, 10), np.float32),
        }
        [export] = nir_exports(spec, arrays, dropped_spikes=0)
        write_export(tmp_path / "a.nir", spec, arrays, export, dropped_spikes=0)
        with h5py.File(str(tmp_path / "a.nir"), "r") as file:
            lif = file["node/nodes/lif_1"]
            assert [lif[name].shape for name in ("tau", "r", "v_threshold")] == [(1,)] * 3
            np.testing.assert_allclose(np.exp(-1 / lif["tau"][()]), 0.95)

    @pytest.mark.parametrize(
        ("crossings", "lost"),
        [
            (Crossings(samples=9, equal=0, double=0), []),
            (Crossings(samples=9, equal=3, double=0), ["rockpool", "sinabs", "spikingjelly"]),
            (Crossings(samples=9, equal=0, double=2), ["rockpool", "sinabs"]),
        ],
    )
    def test_membranes_with_other_spikes_are_losses(
        self, crossings: Crossings, lost: List[str]
    ) -> None:
        files = [{"target": target, "on_loss": "warn"} for target in SIMULATORS]
        spec = spec_of(
            network={"layers": [{"neurons": 2}], "reset": "subtract"}, export={"nir": files}
        )
        found = {
            export.target
            for export in nir_exports(spec, {}, dropped_spikes=0, crossings=crossings)
            if any("membranes of 9" in text or "9 test samples" in text for text in export.left_out)
        }
        assert sorted(found) == lost

    def test_crossings_are_counted_on_held_out_samples(self) -> None:
        spec = spec_of(network={"layers": [{"neurons": 2, "decay": 0.0, "gain": 1.0}]})
        dataset = loaded(spec.data)
        arrays = {
            "layer_1": np.array([[0.5, 1.0]] * 64, np.float32),
            "readout": np.ones((2, 10), np.float32),
        }
        found = crossings_of(spec, arrays, dataset)
        _, counts = dataset.trains.batch(dataset.test[:256])
        # The first neuron's membrane is half, the second's all of the number of input spikes.
        assert found.samples == counts.shape[1]
        assert found.equal == (counts == 2).sum() + (counts == 1).sum()
        assert found.double == (counts >= 4).sum() + (counts >= 2).sum()

    def test_a_leaky_readout_behind_convolutions_crosses_nothing(self) -> None:
        layer = {"kind": "conv2d", "filters": 2, "kernel_size": 1, "gain": 1.0, "decay": 0.0}
        readout = {"gain": 1.0, "decay": 0.0}
        spec = spec_of(network={"layers": [layer], "readout": readout})
        dataset = loaded(spec.data)
        arrays = {
            "layer_1": np.full((1, 1, 1, 2), 1.5, np.float32),
            "readout": np.ones((128, 10), np.float32),  # a membrane is a number of spikes
        }
        found = crossings_of(spec, arrays, dataset)
        assert (found.equal, found.double) == (0, 0)

    def test_weights_are_those_that_runs_read(self, tmp_path: Path) -> None:
        spec = spec_of(
            network={"layers": [{"neurons": 2}]},
            device={"kind": "cpu", "weights_dtype": "bfloat16"},
            export={"nir": [{"target": "norse"}]},
        )
        arrays = {
            "layer_1": np.full((64, 2), 1.001, np.float32),
            "readout": np.ones((2, 10), np.float32),
        }
        [export] = nir_exports(spec, arrays, dropped_spikes=0)
        assert any("bfloat16" in note for note in export.notes)
        write_export(tmp_path / "a.nir", spec, arrays, export, dropped_spikes=0)
        graph = nir.read(str(tmp_path / "a.nir"))
        np.testing.assert_array_equal(graph.nodes["weights_1"].weight, 10.0)

    @pytest.mark.parametrize("on_loss", ["refuse", "warn"])
    def test_a_trained_threshold_without_a_reciprocal_is_reported(
        self, on_loss: str, tmp_path: Path
    ) -> None:
        """snnTorch's weights are divided by thresholds, which training may move to 0 or below."""
        spec = spec_of(
            network={"layers": [{"neurons": 2}], "trainable": ["threshold"]},
            export={"nir": [{"target": "snntorch", "on_loss": on_loss}]},
        )
        arrays = {
            "layer_1": np.ones((64, 2), np.float32),
            "readout": np.ones((2, 10), np.float32),
            "layer_1_threshold": np.array([1.0, -0.5], np.float32),
        }
        [export] = nir_exports(spec, arrays, dropped_spikes=0)
        assert ["thresholds" in loss for loss in export.left_out] == [True]
        assert export.written is (on_loss == "warn")
        write_export(tmp_path / "a.nir", spec, arrays, export, dropped_spikes=0)
        weight = nir.read(str(tmp_path / "a.nir")).nodes["weights_1"].weight
        assert np.isfinite(weight).all()
        assert (weight > 0).all()


@pytest.mark.usefixtures("threads_are_set")
class TestAttempt:
    def test_writes_the_files_and_reports_losses(self, tmp_path: Path) -> None:
        network = {"layers": [{"neurons": 8}], "reset": "none"}
        nir_files = [{"target": target, "on_loss": "warn"} for target in ("norse", "snntorch")]
        spec = {**SPEC, "network": network, "training": {"epochs": 1}}
        result = attempt(tmp_path / "work", {**spec, "export": {"nir": nir_files}})
        assert result.done["reason"] == "completed", result.done
        manifest = json.loads((result.directory / "manifest.json").read_text("utf-8"))
        page = Page((result.directory / "report.html").read_text("utf-8"))
        for number, name in enumerate(("norse", "snntorch")):
            file = f"network.{name}.nir"
            assert file in [artifact["name"] for artifact in manifest["artifacts"]]
            assert "reset is none" in str(manifest["network"]["exports"][number]["left_out"])
            assert any(file in line and "reset is none" in line for line in result.log)
            assert f"{file} leaves out" in "".join(page.text["dt"])
            with h5py.File(str(result.directory / file), "r") as graph:
                assert "reset is none" in graph["node/metadata/left_out"][()].decode()

    def test_does_not_write_a_file_that_lacks_dropped_spikes(self, tmp_path: Path) -> None:
        """Membranes above twice their threshold are reported after the first epoch, too."""
        network = {"layers": [{"neurons": 24, "capacity": 1, "gain": 60.0}], "reset": "subtract"}
        spec = {**SPEC, "network": network, "training": {"epochs": 2}}
        targets = [{"target": "norse"}, {"target": "sinabs"}]
        result = attempt(tmp_path / "work", {**spec, "export": {"nir": targets}})
        assert result.done["reason"] == "completed", result.done
        assert not (result.directory / "network.norse.nir").exists()
        assert any("network.norse.nir was not written" in line for line in result.log)
        manifest = json.loads((result.directory / "manifest.json").read_text("utf-8"))
        early = [line for line in result.log if line.startswith("network.sinabs.nir would be")]
        assert len([line for line in early if "twice their threshold" in line]) == 1
        export = manifest["network"]["exports"][0]
        assert not export["written"]
        assert "capacity" in export["left_out"][0]
