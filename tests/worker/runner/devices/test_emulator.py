"""The device `emulator`: the same runner as on a CPU, with the Poplar op on emulated tiles."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Dict, Iterator, Tuple

import numpy as np
import pytest
import tensorflow as tf

from ipulse_core import pva
from ipulse_worker.runner.backends import cpu, emulator
from ipulse_worker.runner.profile.tile_profile import AROUND, TOGETHER, TileProfile
from tests.worker.runner.attempts import FinishedAttempt, attempt
from tests.worker.runner.emulated import ipu_spec

TILES = 8
RATE = "firing_rate/"
SHOWN = ("layers[0]", "layers[1]", "readout")  # the layers in the report


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dict[str, FinishedAttempt]]:
    """The same spec on both devices; on the emulator, an epoch is one execution.

    "one program" also computes loss and update on the emulator.
    """
    attempts: Dict[str, FinishedAttempt] = {}
    keras: Any = getattr(tf.keras, "config", None)  # Keras 3's
    with pytest.MonkeyPatch.context() as patch:
        for module in (cpu, emulator):  # threads are the test process's
            patch.setattr(module, "configure_tensorflow", lambda threads, seed: None)
        if keras is not None:
            keras.disable_traceback_filtering()
        for kind, options in (
            ("cpu", {}),
            ("emulator", {"tiles": TILES, "steps_per_execution": 3}),
            ("emulator", {"tiles": TILES, "training": "device", "host_link": "fabric"}),
        ):
            name = "one program" if "training" in options else kind
            directory = tmp_path_factory.mktemp(kind) / "work"
            attempts[name] = attempt(directory, ipu_spec({"kind": kind, **options}))
            assert attempts[name].done["reason"] == "completed", attempts[name].done
        yield attempts
        if keras is not None:
            keras.enable_traceback_filtering()


@pytest.mark.old_python
@pytest.mark.parametrize("emulated", ["emulator", "one program"])
def test_learns_what_a_cpu_learns(trained: Dict[str, Any], emulated: str) -> None:
    """Batches of 12 out of 32 samples: the last one of an epoch is filled up."""
    results = [trained["cpu"], trained[emulated]]
    weights = [dict(np.load(result.directory / "weights.npz")) for result in results]
    assert weights[0].keys() == weights[1].keys()
    for name, on_cpu in weights[0].items():
        np.testing.assert_allclose(weights[1][name], on_cpu, rtol=1e-3, atol=1e-5, err_msg=name)
    last = [result.done["summary"] for result in results]
    for figure in (
        "loss",
        "accuracy",
        "test_loss",
        "test_accuracy",
        "dropped_spikes",
        "steps",
        "synops",
        "synops_effective",
    ):
        assert last[1][figure] == pytest.approx(last[0][figure], rel=1e-4), figure


def test_compiles_before_it_attaches(trained: Dict[str, FinishedAttempt]) -> None:
    result = trained["emulator"]
    assert result.trace[0].startswith(("compiled in", "loaded from"))
    assert result.trace[1].startswith("attached to")
    assert result.phases == ["prepare", "compile", "acquire", "run", "report"]


def poplar_profile(result: FinishedAttempt) -> Dict[str, Any]:
    (artifact,) = [event for event in result.events if event.get("role") == "poplar_profile"]
    profile: Dict[str, Any] = json.loads((result.directory / artifact["path"]).read_text())
    return profile


def test_stream_copies_are_steps_that_cost_what_the_connection_costs(
    trained: Dict[str, FinishedAttempt],
) -> None:
    links = {"emulator": (32e9, 10e-6, 2), "one program": (12.5e9, 15e-6, 6)}
    for name, (rate, latency, copies) in links.items():
        profile = poplar_profile(trained[name])
        target = profile["compilation"]["target"]
        assert (target["hostBytesPerSecond"], target["hostLatencySeconds"]) == (rate, latency)
        steps = [s for s in TileProfile(profile, 3).steps if s.name.startswith("from_host/")]
        assert len(steps) == copies  # ids, counts; labels, mask, rate, number of the step
        slots = [s.cycles.host / s.executions for s in steps]
        assert min(slots) >= latency * target["clockFrequency"]
        assert max(slots) > min(slots)  # ids are most of the bytes


def copied(result: FinishedAttempt, direction: str) -> Dict[str, Tuple[int, int, float]]:
    """Return executions, bytes and cycles of the copies to or from the host by name."""
    field = {"to_host/": "bytesToHost", "from_host/": "bytesFromHost"}[direction]
    report = pva.openReport(str(result.directory / "poplar_profile.json"))
    return {
        total.program.label: (total.executions, getattr(total, field), total.hostCycles)
        for total in report.execution.totals
        if direction in total.program.label
    }


def test_what_a_step_reads_on_the_host_is_copied_there(
    trained: Dict[str, FinishedAttempt],
) -> None:
    """Counts and dropped spikes of two layers and the membrane leave; gradients or losses."""
    value = 4 * 8 * 12  # bytes of all steps and samples
    forward = [2 * value, *[2 * value, value] * 2]
    weights = [4 * size for size in (6 * 12, 12, 12 * 8, 8 * 2)]
    for name, more in (("emulator", []), ("one program", [4 * 12])):
        found = copied(trained[name], "to_host/")
        each = {step: moved / turns for step, (turns, moved, _) in found.items()}
        of_pass = {step for step in each if step.startswith("backward/")}
        assert sorted(each[step] for step in each if step not in of_pass) == sorted(forward + more)
        gradients = sorted(each[step] for step in of_pass)
        assert gradients == (sorted(weights) if name == "emulator" else [])


def test_copies_to_the_host_cost_what_the_connection_costs(
    trained: Dict[str, FinishedAttempt],
) -> None:
    for name in ("emulator", "one program"):
        profile = poplar_profile(trained[name])
        target, execution = profile["compilation"]["target"], profile["execution"]
        found = copied(trained[name], "to_host/")
        for turns, moved, cycles in found.values():
            seconds = turns * target["hostLatencySeconds"] + moved / target["hostBytesPerSecond"]
            assert cycles == pytest.approx(seconds * target["clockFrequency"], rel=1e-3)
        both = [*found.values(), *copied(trained[name], "from_host/").values()]
        host = sum(total["hostCycles"] for total in execution["totals"])
        assert host == sum(cycles for _, _, cycles in both)
        assert execution["totalCycles"]["total"] == TileProfile(profile, 3).total.total


def test_the_report_has_both_directions_of_copies(trained: Dict[str, FinishedAttempt]) -> None:
    for name in ("emulator", "one program"):
        report = (trained[name].directory / "report.html").read_text(encoding="utf-8")
        assert "to the device" in report
        assert "to the host" in report


@pytest.mark.old_python
def test_one_program_has_loss_and_update(trained: Dict[str, FinishedAttempt]) -> None:
    names = [step.name for step in TileProfile(poplar_profile(trained["one program"]), 3).steps]
    assert any(name.startswith("loss/") for name in names), names
    assert "adam/update" in names
    report = (trained["one program"].directory / "report.html").read_text(encoding="utf-8")
    assert "Loss and optimizer are steps of its program." in report


def test_layers_are_the_same_everywhere(trained: Dict[str, FinishedAttempt]) -> None:
    check_layers(trained["emulator"])


def test_the_report_shows_how_layers_are_laid_over_tiles(
    trained: Dict[str, FinishedAttempt],
) -> None:
    mapping = poplar_profile(trained["emulator"])["compilation"]["tileMapping"]
    assert [layer["neurons"] for layer in mapping["layers"]] == [12, 8, 2]
    assert 0 < mapping["load_balance"] <= 1
    report = (trained["emulator"].directory / "report.html").read_text(encoding="utf-8")
    assert "Layers on tiles" in report


def test_a_step_is_profiled_beside_its_prediction(trained: Dict[str, FinishedAttempt]) -> None:
    for name in ("emulator", "one program"):
        ours = json.loads((trained[name].directory / "profile.json").read_text())
        step = ours["execution"]["step_cycles"]
        assert step["not_predicted"] is None
        assert 0.5 < step["predicted"]["cycles"] / step["counted"] < 2, name


def test_leaves_the_profile_of_every_tile(trained: Dict[str, FinishedAttempt]) -> None:
    result = trained["emulator"]
    profile = poplar_profile(result)
    assert profile["emulated"] is True
    assert len(profile["compilation"]["tiles"]) == TILES
    assert profile["execution"]["runs"]
    ours = json.loads((result.directory / "profile.json").read_text())
    assert ours["compilation"]["target"]["emulated"] is True
    assert ours["compilation"]["target"]["tilesPerIpu"] == TILES
    steps = ours["execution"]["runs"][0]["steps"]
    assert steps["count"] == 6
    parts = {p["name"]: p for p in steps["parts"]}
    assert parts["forward"]["seconds"]["total"] > 0
    assert parts["backward"]["seconds"]["total"] > 0
    report = (result.directory / "report.html").read_text(encoding="utf-8")
    assert "Tiles <span" in report
    assert "layer1/integrate" in report
    on_cpu = (trained["cpu"].directory / "report.html").read_text(encoding="utf-8")
    assert "Tiles <span" not in on_cpu


def test_ipus_may_share_every_layers_neurons(
    trained: Dict[str, FinishedAttempt], tmp_path: Path
) -> None:
    """Two IPUs would keep layers whole by themselves. Gradients are summed in another order."""
    options = {"ipus": 2, "split": "neurons", "tiles": TILES, "steps_per_execution": 3}
    result = attempt(tmp_path / "work", ipu_spec({"kind": "emulator", **options}))
    assert result.done["reason"] == "completed", result.done
    weights = [np.load(one.directory / "weights.npz") for one in (result, trained["emulator"])]
    for name, on_one in weights[1].items():
        np.testing.assert_allclose(weights[0][name], on_one, rtol=1e-4, atol=1e-6, err_msg=name)
    compilation = json.loads((result.directory / "profile.json").read_text())["compilation"]
    assert compilation["target"]["numIPUs"] == 2
    assert compilation["kernel"]["split"] == "neurons"
    assert "/merge" in (result.directory / "report.html").read_text(encoding="utf-8")
    check_layers(result)


def check_layers(result: FinishedAttempt) -> None:
    """Compare the layers of report, profile, steps, tiles and metrics: 12 and 8 neurons, 2 classes.

    Keys and names of steps have numbers from 1; what people read has names.
    """
    written = (result.directory / "metrics.jsonl").read_text().splitlines()
    keys = {key for line in written for key in json.loads(line)}
    assert {key[len(RATE) :] for key in keys if key.startswith(RATE)} == {"1", "2"}
    activity = json.loads((result.directory / "profile.json").read_text())["activity"]["layers"]
    assert [(one["layer"], one["name"], one["neurons"]) for one in activity] == [
        (1, "layers[0]", 12),
        (2, "layers[1]", 8),
    ]
    document = poplar_profile(result)
    assert [one["neurons"] for one in document["compilation"]["tileMapping"]["layers"]] == [
        12,
        8,
        2,
    ]
    steps = TileProfile(document, layers=3).steps
    scopes = [step.name for step in steps] + [scope for step in steps for scope in step.by_scope]
    named = {found for scope in scopes for found in re.findall(r"\blayer\d+\b|\breadout\b", scope)}
    assert named == {"layer1", "layer2", "readout"}
    report = (result.directory / "report.html").read_text(encoding="utf-8")
    rows = [
        re.findall(r"<td[^>]*>([^<]*)</td>", row)
        for row in re.findall(r"<tr[^>]*>(.*?)</tr>", report, re.DOTALL)
    ]
    shown = {row[0]: row for row in rows if len(row) == 7 and row[0] in SHOWN}  # on tiles
    assert {name: shown[name][3] for name in SHOWN} == dict(zip(SHOWN, ("12", "8", "2")))
    assert not {"layer 0", "layer 1", "layers[2]"} & {row[0] for row in rows if row}


def test_a_gate_fails_the_job_after_its_results_are_written(tmp_path: Path) -> None:
    gates = ["max_tile_memory<624KiB", "cycles<=1000", "tile_balance>=0"]
    options = {"kind": "emulator", "tiles": TILES, "steps_per_execution": 3}
    result = attempt(tmp_path / "work", {**ipu_spec(options), "profile": {"gates": gates}})
    assert result.done["reason"] == "gate_failed", result.done
    message = result.done["message"]
    assert [gate for gate in gates if gate in message] == ["cycles<=1000"]
    assert result.done["summary"]["test_accuracy"] > 0
    roles = {event.get("role") for event in result.events}
    assert {"manifest", "report", "weights", "poplar_profile"} <= roles
    profile = json.loads((result.directory / "poplar_profile.json").read_text())
    assert f"{profile['execution']['totalCycles']['total']:,} cycles" in message


@pytest.mark.parametrize(
    ("options", "neurons", "reason", "words"),
    [
        ({"tiles": 1}, 40, "runner_error", "/device: LIF op: 3 layers on 1 tiles of an IPU"),
        ({"tiles": 4}, 900, "device_out_of_memory", "graph_memory_allocation_error"),
        (
            {"tiles": TILES, "steps_per_execution": 2},
            12,
            "runner_error",
            "/device/steps_per_execution: 2 does not divide the 3 steps of an epoch",
        ),
    ],
)
def test_what_does_not_fit_is_refused_before_it_runs(
    trained: Any, tmp_path: Path, options: Any, neurons: int, reason: str, words: str
) -> None:
    network = {"layers": [{"neurons": neurons}, {"neurons": neurons}]}
    result = attempt(tmp_path / "work", ipu_spec({"kind": "emulator", **options}, network=network))
    assert (result.done["reason"], words in result.done["message"]) == (reason, True), result.done
    assert result.phases[-1] == "compile"


def test_with_a_delay_layers_share_steps_by_their_work(tmp_path: Path) -> None:
    spec = ipu_spec({"kind": "emulator", "tiles": TILES, "steps_per_execution": 1})
    spec["network"]["delay"] = 1
    result = attempt(tmp_path / "work", spec)
    assert result.done["reason"] == "completed", result.done
    hidden = len(spec["network"]["layers"])
    document = json.loads((result.directory / "poplar_profile.json").read_text())
    profile = TileProfile(document, layers=hidden + 1)
    layers = {layer.name: layer for layer in profile.layers}
    spent = {name: of.backward.total - of.backward.host for name, of in layers.items()}
    for name in [*(f"layer {number}" for number in range(1, hidden + 1)), "readout"]:
        assert layers[name].forward.compute > 0, name
        assert layers[name].backward.compute > 0, name
    assert sum(spent.get(name, 0) for name in (TOGETHER, AROUND)) < 0.2 * sum(spent.values())
    assert sum(layer.total for layer in layers.values()) == pytest.approx(profile.total.total)
    report = (result.directory / "report.html").read_text(encoding="utf-8")
    assert "backward/all_layers/adjoint" in report
    assert "layer0" not in report
    assert "layer0" not in json.dumps(document)
    check_layers(result)
