"""The back ends agree, and differences are detected."""

from __future__ import annotations

import dataclasses
import io
import json
import sys
from pathlib import Path
from typing import Any, Dict, List, Tuple

import numpy as np
import pytest

from ipulse_core.data_files.directory import DataDirectory
from ipulse_core.errors import Conflict
from ipulse_ops.lif.reference import network_pass as reference
from ipulse_ops.lif.reference.trace import Trace
from ipulse_worker.runner.crosscheck import __main__ as program
from ipulse_worker.runner.crosscheck.backends import BACKENDS, Result, one_op
from ipulse_worker.runner.crosscheck.comparison import MARGIN_TOLERANCE, compare_with_reference
from ipulse_worker.runner.crosscheck.problem import CrosscheckProblem, problem_of
from ipulse_worker.runner.data.load import load
from ipulse_worker.runner.devices import processor
from tests.worker.runner.emulated import ipu_spec
from tests.worker.runner.model.test_conv_equations import OWN

from .resolver import resolve
from .specs import spec_from

TILES = 8
DIGITS = {"kind": "digits", "samples": 64, "steps": 6}
CONV = {"kind": "conv2d", "filters": 4, "kernel_size": 3}
LAYERS: Dict[str, List[Dict[str, Any]]] = {
    "without slots": [{"neurons": 10, "second_threshold": 0.5, "recurrent": True}, {"neurons": 6}],
    "with slots": [{"neurons": 10, "capacity": 3, "policy": "top"}, {"neurons": 6, "bias": True}],
    "with drawn slots": [{"neurons": 10, "capacity": 3, "policy": "cyclic"}, {"neurons": 6}],
}


def spec_of(layers: str, **network: Any) -> Dict[str, Any]:
    return ipu_spec({"kind": "cpu"}, network={"layers": LAYERS[layers], **network})


@pytest.fixture(scope="module")
def problem() -> CrosscheckProblem:
    spec = spec_from(spec_of("without slots", trainable=["threshold"]))
    dataset = load(spec.data, DataDirectory(None), lambda done, samples: None)
    return problem_of(spec, dataset, samples=5, steps=6)


@pytest.fixture(scope="module")
def reference_and_result(problem: CrosscheckProblem) -> Tuple[Trace, Result]:
    """The reference's own run, and one op's."""
    p = problem
    free = reference.forward(p.network, p.weights, p.ids, p.counts, seed=p.seed)
    return free, one_op("cpu")(problem, TILES)


class TestWays:
    def run(self, monkeypatch: pytest.MonkeyPatch, document: Any) -> Any:
        """Return the program's result for a spec."""
        monkeypatch.setattr(processor, "configure_tensorflow", lambda threads, seed: None)
        line = json.dumps(resolve("ExperimentSpec", document))
        given, printed = io.TextIOWrapper(io.BytesIO(line.encode())), io.StringIO()
        monkeypatch.setattr(sys, "stdin", given)
        monkeypatch.setattr(sys, "stdout", printed)
        assert program.main(["--samples=3", "--steps=5", f"--tiles={TILES}"]) == 0
        monkeypatch.undo()
        *before, result = map(json.loads, printed.getvalue().splitlines())
        assert all(list(line) == ["doing"] for line in before)
        return result

    @pytest.mark.old_python
    @pytest.mark.parametrize(
        ("layers", "left_out"),
        [
            ("without slots", []),
            ("with slots", ["dense cell on cpu", "dense cell on emulator"]),
            (
                "with drawn slots",
                [
                    "dense cell on cpu",
                    "dense cell on emulator",
                    "sparse ops in an RNN on emulator",
                ],
            ),
        ],
    )
    def test_agree(self, monkeypatch: pytest.MonkeyPatch, layers: str, left_out: List[str]) -> None:
        result = self.run(monkeypatch, spec_of(layers, delay=1))
        skipped = [row for row in result["ways"] if "skipped" in row]
        assert [f"{row['way']} on {row['device']}" for row in skipped] == left_out
        assert result["agree"], result
        assert len(result["ways"]) == len(BACKENDS)
        assert result["spikes"][0] > 0

    def test_truncated_gradients_agree(self, monkeypatch: pytest.MonkeyPatch) -> None:
        document = spec_of("without slots")
        training = {**document["training"], "truncate_steps": 2}
        result = self.run(monkeypatch, {**document, "training": training})
        ran = [f"{row['way']} on {row['device']}" for row in result["ways"] if "agrees" in row]
        assert ran == ["one op on cpu", "one op on emulator"]
        assert result["agree"], result

    def test_missing_back_ends_are_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        document = {**spec_of("with slots"), "data": {"kind": "shd"}}
        result = self.run(monkeypatch, document)
        assert result["error"]["code"] == "data_unavailable"

    def test_the_weights_of_runs_agree(self, monkeypatch: pytest.MonkeyPatch) -> None:
        document = spec_of("without slots")
        first, second = document["network"]["layers"]
        layers = [{**first, "quantisation": {"bits": 4}}, {**second, "standardised": True}]
        network = {"layers": layers, "readout": {"dropout": 0.5}}
        result = self.run(monkeypatch, {**document, "network": network})
        assert result["agree"], result
        assert [row for row in result["ways"] if "skipped" in row] == []
        assert any("dropout" in note for note in result["notes"])


class TestProblem:
    """The weights are those that the runs of a training begin with."""

    def weights(self, directory: DataDirectory, **document: Any) -> List[np.ndarray]:
        spec = spec_from({**spec_of("without slots"), **document})
        dataset = load(spec.data, directory, lambda done, samples: None)
        return problem_of(spec, dataset, 5, 6, directory).weights

    def test_quantised_and_standardised(self) -> None:
        first, second = LAYERS["without slots"]
        layers = [{**first, "quantisation": {"bits": 4}}, {**second, "standardised": True}]
        matrix, recurrent, standardised, _ = self.weights(
            DataDirectory(None), network={"layers": layers}
        )
        plain = self.weights(DataDirectory(None))
        for found, before in ((matrix, plain[0]), (recurrent, plain[1])):
            assert all(len(np.unique(np.abs(column))) <= 8 for column in found.T)
            assert np.abs(found - before).max() < np.abs(before).max() / 12
        np.testing.assert_allclose(standardised.mean(axis=0), 0, atol=1e-6)
        assert np.abs(plain[2].mean(axis=0)).max() > 1e-3

    def test_rounded(self) -> None:
        device = {"kind": "cpu", "weights_dtype": "bfloat16"}
        found = self.weights(DataDirectory(None), device=device)
        for array, before in zip(found, self.weights(DataDirectory(None))):
            assert not (array.view(np.uint32) & 0xFFFF).any()
            np.testing.assert_allclose(array, before, rtol=2**-8)

    def test_of_a_file(self, tmp_path: Path) -> None:
        plain = self.weights(DataDirectory(None))
        names = ("layer_1", "layer_1_recurrent", "layer_2", "readout")
        twice = {name: 2 * array for name, array in zip(names, plain)}
        np.savez(str(tmp_path / "twice.npz"), **twice)
        network = {"layers": LAYERS["without slots"], "initial": {"file": "twice.npz"}}
        for array, before in zip(self.weights(DataDirectory(tmp_path), network=network), plain):
            np.testing.assert_array_equal(array, 2 * before)

    def test_an_upload_is_refused(self) -> None:
        initial = {"upload": "0" * 64}
        network = {"layers": LAYERS["without slots"], "initial": initial}
        with pytest.raises(Conflict, match="upload"):
            self.weights(DataDirectory(None), network=network)


class TestVerdict:
    def test_one_op_is_the_references(
        self, problem: CrosscheckProblem, reference_and_result: Any
    ) -> None:
        assert compare_with_reference(problem, *reference_and_result).agrees

    @pytest.mark.parametrize("number", [0, -1], ids=["weights", "threshold"])
    def test_notices_a_gradient(
        self, problem: CrosscheckProblem, reference_and_result: Any, number: int
    ) -> None:
        free, result = reference_and_result
        wrong = [np.array(gradient) for gradient in result.gradients]
        at = np.unravel_index(np.argmax(np.abs(wrong[number])), wrong[number].shape)
        wrong[number][at] *= np.float32(1.001)
        wrong[number][at] += np.float32(1e-3)
        comparison = compare_with_reference(problem, free, result._replace(gradients=wrong))
        assert not comparison.agrees
        assert comparison.margin == 0.0

    def test_notices_what_is_no_number(
        self, problem: CrosscheckProblem, reference_and_result: Any
    ) -> None:
        free, result = reference_and_result
        comparison = compare_with_reference(
            problem, free, result._replace(membrane=result.membrane * np.nan)
        )
        assert not comparison.agrees
        assert comparison.to_json()["membrane"] is None

    def test_notices_a_spike_that_no_rounding_explains(
        self, problem: CrosscheckProblem, reference_and_result: Any
    ) -> None:
        free, result = reference_and_result
        (ids, counts), *others = result.slots
        counts = counts.copy()
        step, sample = np.argwhere(counts[..., 0] > 0)[0]
        counts[step, sample, 0] -= 1  # the last one carries gradient and does not spike
        comparison = compare_with_reference(
            problem, free, result._replace(slots=[(ids, counts), *others])
        )
        assert comparison.differing == 1
        assert comparison.margin > MARGIN_TOLERANCE
        assert not comparison.agrees

    def test_takes_a_spike_that_rounding_explains(
        self, problem: CrosscheckProblem, reference_and_result: Any
    ) -> None:
        """The reference itself, its threshold a hair above a membrane that was above it."""
        p, (free, _) = problem, reference_and_result
        u = free.layers[0].u
        spiking = np.where(free.layers[0].reset, u, np.inf)
        threshold = np.float64(spiking.min()) * (1 + 1e-6)
        layer = p.network.layers[0]
        network = dataclasses.replace(
            p.network,
            layers=(dataclasses.replace(layer, threshold=threshold), *p.network.layers[1:]),
        )
        raised = dataclasses.replace(p, network=network)
        own = reference.forward(network, p.weights, p.ids, p.counts, seed=p.seed)
        other = dataclasses.replace(layer, threshold=threshold * (1 - 2e-6))
        below = dataclasses.replace(network, layers=(other, *network.layers[1:]))
        result = one_op("cpu")(dataclasses.replace(p, network=below), TILES)
        comparison = compare_with_reference(raised, own, result)
        assert 0 < comparison.margin < MARGIN_TOLERANCE
        assert comparison.differing >= 1


@pytest.mark.parametrize(("layer", "named"), [(CONV, "convolutions"), (OWN, "equations")])
def test_networks_with_other_layers_are_refused(layer: Dict[str, Any], named: str) -> None:
    spec = spec_from({**spec_of("without slots"), "data": DIGITS, "network": {"layers": [layer]}})
    dataset = load(spec.data, DataDirectory(None), lambda done, samples: None)
    with pytest.raises(Conflict, match=f"{named}.*ipulse compare"):
        problem_of(spec, dataset, 5, 6)
