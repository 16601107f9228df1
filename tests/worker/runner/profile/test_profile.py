from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Dict, Iterator

import numpy as np
import pytest

from ipulse_ops.lif.cpu import arrays, native
from ipulse_worker.runner.model.network import initial_limits, network_of, spiking_neurons
from ipulse_worker.runner.profile.layer_times import FORWARD
from ipulse_worker.runner.profile.memory import full_history, saved_for_backward
from ipulse_worker.runner.runner_start import TENSORFLOW_IMPORT
from ipulse_worker.runner.training import step_times
from ipulse_worker.runner.training.step_times import PARTS, StepTime, StepTimes
from tests.ops.strategies import random_problem
from tests.worker.runner.conftest import SPEC
from tests.worker.runner.driven_runner import DrivenRunner
from tests.worker.runner.forked_runner import SOURCE
from tests.worker.runner.specs import spec_from


@pytest.fixture(scope="module")
def profile(finished_dir: Path, finished: DrivenRunner) -> Dict[str, Any]:
    document: Dict[str, Any] = json.loads((finished_dir / "profile.json").read_text())
    return document


def test_the_clocks_of_the_forward_pass_are_those_of_kernels() -> None:
    assert set(native.phases()) > FORWARD


class TestProfile:
    def test_has_a_time_for_every_phase(self, profile: Dict[str, Any]) -> None:
        phases = profile["execution"]["phases"]
        names = ["prepare", "compile", "acquire", "run", "report"]
        assert [phase["name"] for phase in phases] == names
        for before, after in zip(phases, phases[1:]):
            assert before["microseconds"]["end"] <= after["microseconds"]["start"]
        for phase in phases:
            span = phase["microseconds"]["end"] - phase["microseconds"]["start"]
            assert span == pytest.approx(phase["seconds"] * 1e6)

    def test_divides_the_passes_of_a_step_by_layer(self, profile: Dict[str, Any]) -> None:
        [run] = profile["execution"]["runs"]
        layers = run["layers"]["layers"]
        assert [layer["layer"] for layer in layers] == [1, 2, "readout"]
        parts = {part["name"]: part["seconds"] for part in run["steps"]["parts"]}
        for direction in ("forward", "backward"):
            seconds = [layer[direction] for layer in layers]
            assert min(seconds) > 0
            assert sum(seconds) == pytest.approx(parts[direction]["mean"])

    def test_begins_with_the_start_of_the_runner(
        self, profile: Dict[str, Any], finished: DrivenRunner
    ) -> None:
        """The process of `finished` was started for its assignment."""
        phases = profile["execution"]["phases"]
        parts = {part["name"]: part["seconds"] for part in phases[0]["parts"]}
        assert list(parts) == ["runner start", TENSORFLOW_IMPORT, "data set"]
        assert all(seconds > 0 for seconds in parts.values())
        assert parts[TENSORFLOW_IMPORT] < profile["attempt"]["import_seconds"]
        assert sum(parts.values()) == pytest.approx(phases[0]["seconds"])
        assert phases[0]["microseconds"]["start"] == 0
        # Phases leave no gap, so that their sum is the whole attempt.
        end = phases[-1]["microseconds"]["end"] / 1e6
        assert sum(phase["seconds"] for phase in phases) == pytest.approx(end)
        assert finished.events[-1]["summary"]["seconds"] == pytest.approx(end)

    def test_has_the_times_of_the_events(
        self, profile: Dict[str, Any], finished: DrivenRunner
    ) -> None:
        ended = [event["previous_seconds"] for event in finished.kinds("phase")]
        phases = profile["execution"]["phases"]
        assert ended == [None, *(phase["seconds"] for phase in phases[:-1])]

    def test_parts_of_a_step_add_up_to_its_wall_time(self, profile: Dict[str, Any]) -> None:
        steps = profile["execution"]["runs"][0]["steps"]
        assert steps["count"] == 200
        assert [part["name"] for part in steps["parts"]] == [*PARTS, "residual"]
        totals = {part["name"]: part["seconds"]["total"] for part in steps["parts"]}
        assert sum(totals.values()) == pytest.approx(steps["seconds"]["total"], rel=1e-9)
        assert abs(totals["residual"]) < 1e-6  # the stamps leave no gap
        assert sum(part["share"] for part in steps["parts"]) == pytest.approx(1)
        for name in PARTS:
            assert totals[name] > 0, name

    def test_parts_of_the_run_add_up_to_the_phase(self, profile: Dict[str, Any]) -> None:
        run = profile["execution"]["runs"][0]
        assert sum(part["seconds"] for part in run["parts"]) == pytest.approx(run["seconds"])
        assert all(part["seconds"] > 0 for part in run["parts"])
        steps = run["parts"][0]
        assert steps["name"] == "training steps"
        assert steps["seconds"] == run["steps"]["seconds"]["total"]

    def test_quantiles_are_ordered(self, profile: Dict[str, Any]) -> None:
        spread = profile["execution"]["runs"][0]["steps"]["seconds"]
        assert 0 < spread["p50"] <= spread["p95"] <= spread["max"] <= spread["total"]

    def test_has_the_activity_of_each_layer(self, profile: Dict[str, Any]) -> None:
        activity = profile["activity"]
        assert activity["samples"] == 40
        for layer, neurons in zip(activity["layers"], (32, 24)):
            assert layer["neurons"] == neurons
            assert len(layer["spikes_by_step"]) == 40
            total = sum(layer["spikes_by_step"])
            assert total == pytest.approx(layer["spikes_per_sample"])
            assert layer["firing_rate"] == pytest.approx(total / (40 * neurons))
            assert layer["firing_rate"] <= layer["gradient_share"] <= 1
        assert activity["layers"][0]["overflow"] == {"training": 0, "held_out": 0}
        assert activity["layers"][1]["overflow"]["training"] > 0

    def test_lists_what_lives_throughout(self, profile: Dict[str, Any]) -> None:
        variables = profile["compilation"]["alwaysLiveVariables"]
        sizes = {entry["name"]: entry["size"] for entry in variables}
        assert sizes["weights/layer_1"] == 64 * 32 * 4
        weights = sum(size for name, size in sizes.items() if name.startswith("weights/"))
        assert profile["memory"]["weights"]["bytes"] == weights
        assert profile["memory"]["optimizer"]["bytes"] == sum(sizes.values()) - weights
        assert profile["memory"]["peakRss"]["bytes"] > 50e6  # TensorFlow alone is more

    @pytest.mark.old_python
    def test_describes_the_kernel_and_the_versions(self, profile: Dict[str, Any]) -> None:
        assert profile["compilation"]["target"]["type"] == "Cpu"
        assert profile["compilation"]["kernel"]["kernel"]
        assert {"python", "numpy", "tensorflow", "ipulse", "compiler"} == set(profile["versions"])

    def test_every_name_is_documented(self, profile: Dict[str, Any]) -> None:
        page = (SOURCE / "docs" / "reference" / "profile.md").read_text()
        documented = set(re.findall(r"`([^`]+)`", page))
        names = set(_names(profile))
        assert names - documented == set()
        assert len(names) > 50


class TestStepTimes:
    def test_splits_a_step_by_its_stamps_and_the_kernels_clock(self) -> None:
        times = StepTimes()
        for late in (0.0, 1.0):
            times.add(
                StepTime(
                    start=10.0,
                    batch_ready=10.5,
                    gradients_ready=13.5 + late,
                    weights_updated=14.5 + late,
                    end=14.75 + late,
                    forward=1.0,
                    backward=1.5 + late,
                )
            )
        document = times.to_json()
        totals = {part["name"]: part["seconds"]["total"] for part in document["parts"]}
        assert totals == {
            "data": 1.0,
            "forward": 2.0,
            "backward": 4.0,
            "framework": 1.0,
            "optimizer": 2.0,
            "metrics": 0.5,
            "residual": 0.0,
        }
        assert document["seconds"]["total"] == 10.5
        assert document["seconds"]["mean"] == 5.25
        assert document["seconds"]["max"] == 5.75

    def test_quantiles_are_over_the_last_steps(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(step_times, "QUANTILE_STEPS", 2)
        times = StepTimes()
        for seconds in (9.0, 1.0, 1.0):
            times.add(StepTime(0.0, 0.0, 0.0, 0.0, end=seconds, forward=0.0, backward=0.0))
        document = times.to_json()
        assert (document["count"], document["quantiles_over"]) == (3, 2)
        assert (document["seconds"]["total"], document["seconds"]["max"]) == (11.0, 1.0)

    def test_without_a_step_has_nulls_and_no_division(self) -> None:
        """An attempt that resumes a finished training only writes its results."""
        document = StepTimes().to_json()
        assert document["count"] == 0
        assert document["seconds"]["p50"] is None
        assert all(part["share"] is None for part in document["parts"])


class TestSavedForBackward:
    def test_counts_membranes_and_sets(self) -> None:
        """40 steps * 32 samples; layer 1: a quarter of 32 neurons and two sets of 128 bits, layer
        2, which has a capacity: half of 24 and three."""
        spec = spec_from(SPEC)
        saved = saved_for_backward(spec, initial_limits(spec), np.array([0.25, 0.5]))
        assert saved == 40 * 32 * (32 * 4 * 0.25 + 2 * 16 + 24 * 4 * 0.5 + 3 * 16)
        assert full_history(spec) == 40 * 32 * 4 * (32 + 24)

    @pytest.mark.parametrize(("memory", "store"), [("slots", "membranes"), ("recompute", "spikes")])
    def test_is_what_the_kernels_keep(self, memory: str, store: str) -> None:
        layers = [
            {"neurons": 200, "second_threshold": 0.5},
            {"neurons": 128},
            {"neurons": 60, "capacity": 7, "recurrent": True},
        ]
        document = {**SPEC, "network": {"layers": layers}, "device": {"memory": memory}}
        spec = spec_from(document)
        network = network_of(spec)
        problem = random_problem(network, seed=4, steps=spec.data.steps, batch=32, slots=30)
        p = problem
        run = arrays.forward(network, p.weights, p.ids, p.counts, store=store)
        shares = [
            layer.spike_counts[..., 1].mean() / neurons
            for layer, neurons in zip(run.layers, spiking_neurons(spec))
        ]
        assert 0 < min(shares) < 0.2
        kept = sum(layer.bits.nbytes + layer.membranes.nbytes for layer in run.layers)
        assert saved_for_backward(spec, initial_limits(spec), np.array(shares)) == kept


def _names(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _names(item)
    if isinstance(value, list):
        for item in value:
            yield from _names(item)
