"""An exported NIR network computes what the trained one does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ipulse_ops.lif.reference import network_pass as reference
from ipulse_ops.reference.spikes import sparse_to_dense
from ipulse_worker.runner.model.network import network_of
from ipulse_worker.runner.results.nir_export import write_network
from ipulse_worker.runner.results.nir_network import tau_s
from tests.worker.runner.conftest import SPEC
from tests.worker.runner.data.loaded import loaded
from tests.worker.runner.driven_runner import DrivenRunner
from tests.worker.runner.results.test_nir_export import simulate
from tests.worker.runner.specs import spec_from
from tests.worker.runner.trainings import spec_of, training_of


class TestSimulation:
    @pytest.mark.parametrize("delay", [0, 1])
    def test_of_the_graph_gives_the_same_spikes(self, delay: int, tmp_path: Path) -> None:
        """Another simulator, written from NIR's definitions alone, spikes where ours does."""
        network = {"delay": delay, "layers": [{"neurons": 20}, {"neurons": 16, "decay": 0.8}]}
        spec = spec_of(network=network)
        training = training_of(spec)
        weights = training.model.weights
        write_network(tmp_path / "network.nir", spec, training.model.arrays, dropped_spikes=0)

        ids, counts = training.dataset.trains.batch(training.dataset.test[:3])
        trace = reference.forward(network_of(spec), weights, ids, counts)
        inputs = sparse_to_dense(ids, counts, 64)
        for sample in range(3):
            lifs, membrane = simulate(tmp_path / "network.nir", inputs[:, sample])
            for number, layer in enumerate(trace.layers, start=1):
                ours = sparse_to_dense(
                    layer.spike_ids, layer.spike_counts[..., 0], layer.u.shape[2]
                )
                assert ours[:, sample].sum() > 0
                np.testing.assert_array_equal(lifs[f"lif_{number}"], ours[:, sample])
            np.testing.assert_allclose(membrane, trace.membrane[:, sample], rtol=1e-5, atol=1e-5)

    @pytest.mark.old_python
    def test_of_a_trained_network_predicts_the_same(
        self, finished_dir: Path, finished: DrivenRunner, tmp_path: Path
    ) -> None:
        """Without its capacity, which NIR cannot say: the weights that training left behind."""
        document = {
            **SPEC,
            "network": {**SPEC["network"], "layers": [{"neurons": 32}, {"neurons": 24}]},
        }
        spec = spec_from(document)
        with np.load(finished_dir / "weights.npz", allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in ("layer_1", "layer_2", "readout")}
        weights = list(arrays.values())
        write_network(tmp_path / "network.nir", spec, arrays, dropped_spikes=0)
        dataset = loaded(spec.data)
        ids, counts = dataset.trains.batch(dataset.test[:5])
        ours = reference.forward(network_of(spec), weights, ids, counts).membrane
        for sample in range(5):
            inputs = sparse_to_dense(ids, counts, 64)[:, sample]
            _, membrane = simulate(tmp_path / "network.nir", inputs)
            np.testing.assert_allclose(membrane, ours[:, sample], rtol=1e-5, atol=1e-5)


class TestTau:
    def test_of_no_memory_still_decays_to_nothing(self) -> None:
        assert np.exp(-0.002 / tau_s(0.0, 0.002)) == 0.0
        assert np.exp(-0.002 / tau_s(0.9, 0.002)) == pytest.approx(0.9, rel=1e-14)
