"""The protocol, spoken with real runner processes."""

from __future__ import annotations

import copy
import json
import signal
from pathlib import Path
from typing import Any, Callable, Dict

import pytest

from ipulse_ops.lif.cpu import native
from ipulse_worker.runner.warm_up import warm_up
from tests.worker.runner.attempts import attempt
from tests.worker.runner.conftest import SPEC, Start
from tests.worker.runner.driven_runner import DrivenRunner
from tests.worker.runner.resolver import check_event
from tests.worker.runner.specs import spec_from

PHASES = ["prepare", "compile", "acquire", "run", "report"]


def changed(change: Callable[[Dict[str, Any]], None]) -> Dict[str, Any]:
    spec = copy.deepcopy(SPEC)
    change(spec)
    return spec


@pytest.mark.old_python
class TestACompleteAttempt:
    def test_goes_through_the_phases_in_order(self, finished: DrivenRunner) -> None:
        assert [event["phase"] for event in finished.kinds("phase")] == PHASES

    def test_ends_with_its_outcome(self, finished: DrivenRunner) -> None:
        done = finished.events[-1]
        assert done["kind"] == "done"
        assert done["reason"] == "completed"
        assert len(finished.kinds("done")) == 1
        summary = done["summary"]
        assert summary["epochs"] == 40
        assert summary["steps"] == 200
        assert summary["test_accuracy"] > 0.5  # far from the 0.1 of guessing
        assert summary["dropped_spikes"] > 0  # six slots are too few, on purpose

    def test_sends_only_events_of_the_protocol(self, finished: DrivenRunner) -> None:
        for event in finished.events:
            check_event(event)
        first = next(event for event in finished.events if event["kind"] != "progress")
        assert first["kind"] == "ready"

    def test_reports_the_steps_of_its_start(self, finished: DrivenRunner) -> None:
        before = [event["kind"] for event in finished.events].index("ready")
        start = finished.events[:before]
        assert [event["steps_done"] for event in start] == list(range(len(start)))
        assert {event["steps_total"] for event in start} == {len(start)}
        assert "TensorFlow" in start[0]["message"]

    def test_says_what_it_does_in_every_phase(self, finished: DrivenRunner) -> None:
        """Fractions grow, and every phase that can take long begins with a sentence."""
        phase, said, fraction = "prepare", set(), -1.0
        for event in finished.kinds("phase", "progress"):
            if event["kind"] == "phase":
                fraction = fraction if event["phase"] == phase else -1.0
                phase = event["phase"]
                continue
            assert event["phase"] == phase
            assert event["fraction"] >= fraction, event
            assert event["message"]
            fraction = event["fraction"]
            said.add(phase)
        assert {"prepare", "compile", "run", "report"} <= said

    def test_metrics_have_a_scope(self, finished: DrivenRunner, finished_dir: Path) -> None:
        """The series of a scope are those of metrics.jsonl, to the last digit."""
        lines = (finished_dir / "metrics.jsonl").read_text().splitlines()
        records = {(line["scope"], line["step"]): line for line in map(json.loads, lines)}
        scopes = set()
        for event in finished.kinds("metric"):
            record = records[event["scope"], event["step"]]
            values = {k: v for k, v in event["values"].items() if k != "samples_per_second"}
            assert values == {k: record[k] for k in values}
            assert event["epoch"] == record["epoch"]
            assert ("test_accuracy" in values) is (event["scope"] == "epoch")
            assert event["held_out"] == "test"
            scopes.add(event["scope"])
        assert scopes == {"step", "epoch"}

    def test_reports_the_first_step_and_every_epoch(self, finished: DrivenRunner) -> None:
        metrics = finished.kinds("metric")
        assert metrics[0]["step"] == 1
        by_epoch = {event["epoch"]: event for event in metrics if event["scope"] == "epoch"}
        assert sorted(by_epoch) == list(range(1, 41))
        names = {"loss", "accuracy", "test_loss", "test_accuracy", "samples_per_second"}
        layer = {"firing_rate", "gradient_set", "overflow", "second_threshold"}
        names |= {f"{figure}/{number}" for figure in layer for number in (1, 2)}
        names |= {"learning_rate"}
        assert set(by_epoch[40]["values"]) == names
        assert by_epoch[40]["eta_seconds"] == 0
        assert by_epoch[1]["eta_seconds"] > by_epoch[39]["eta_seconds"] > 0

    def test_does_not_flood_the_agent_within_an_epoch(self, finished: DrivenRunner) -> None:
        within = [e for e in finished.kinds("metric") if e["scope"] == "step"]
        seconds = finished.events[-1]["summary"]["run_seconds"]
        assert len(within) <= 1 + seconds / 0.2

    def test_logs_that_it_compiled_before_it_attached(self, finished: DrivenRunner) -> None:
        messages = [event["message"] for event in finished.kinds("log")]
        compiled = next(at for at, line in enumerate(messages) if line.startswith("compiled"))
        attached = next(
            at for at, line in enumerate(messages) if line.startswith("attached to cpu")
        )
        assert compiled < attached

    def test_prints_nothing_of_its_own(self, finished: DrivenRunner) -> None:
        assert finished.printed() == ""

    def test_names_every_artifact_once_and_the_manifest_last(self, finished: DrivenRunner) -> None:
        artifacts = [(event["path"], event["role"]) for event in finished.kinds("artifact")]
        assert artifacts == [
            ("metrics.jsonl", "metrics"),
            ("weights.npz", "weights"),
            ("network.nir", "network"),
            ("profile.json", "profile"),
            ("spikes.json", "spikes"),
            ("trace.json.gz", "trace"),
            ("report.html", "report"),
            ("manifest.json", "manifest"),
        ]


class TestTheStart:
    @pytest.mark.verify
    def test_of_a_later_runner_has_an_expected_time(
        self, start_runner: Start, tmp_path: Path
    ) -> None:
        def remaining() -> Any:
            runner = start_runner({"IPULSE_CACHE": str(tmp_path)})
            runner.until_kind("ready")
            return runner.events[0].get("remaining_seconds")

        assert remaining() is None
        assert remaining() > 0


class TestWarmingUp:
    def test_loads_the_kernels_that_were_built(self, start_runner: Start) -> None:
        library = native.build_tensorflow_op()
        runner = start_runner()
        runner.until_kind("ready")
        loaded = Path(f"/proc/{runner.process.pid}/maps").read_text()
        assert f"{library.parent.name}/{library.name}" in loaded

    def test_builds_nothing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("IPULSE_CACHE", str(tmp_path))
        warm_up()
        assert not list(tmp_path.iterdir())


class TestWithoutAnAssignment:
    def test_ends_quietly_at_the_end_of_its_input(self, start_runner: Start) -> None:
        runner = start_runner()
        runner.until_kind("ready")
        assert runner.process.stdin is not None
        runner.process.stdin.close()
        assert runner.finish() == 0
        assert {event["kind"] for event in runner.events} == {"progress", "ready"}

    def test_ends_quietly_when_stopped(self, start_runner: Start) -> None:
        runner = start_runner()
        runner.until_kind("ready")
        runner.process.send_signal(signal.SIGTERM)
        assert runner.finish() == 0
        assert {event["kind"] for event in runner.events} == {"progress", "ready"}


class TestABadAssignment:
    def test_of_another_protocol_is_refused(self, tmp_path: Path) -> None:
        result = attempt(tmp_path / "work", SPEC, protocol=2)
        done = result.done
        assert (done["kind"], done["reason"]) == ("done", "runner_error")
        assert "/protocol: this runner uses protocol 1; got 2" in done["message"]
        assert result.phases == []


class TestAFinish:
    def test_n22_writes_all_results_of_the_epochs_so_far(
        self, start_runner: Start, tmp_path: Path, finished: DrivenRunner
    ) -> None:
        runner = start_runner()
        runner.assign(tmp_path, changed(lambda spec: spec["training"].update(epochs=100_000)))
        runner.until_kind("metric")
        runner.process.send_signal(signal.SIGUSR1)
        assert runner.finish() == 0
        done = runner.events[-1]
        assert (done["kind"], done["reason"]) == ("done", "finished_early")
        summary = done["summary"]
        assert summary["steps"] >= 1
        assert summary["epochs_done"] == pytest.approx(summary["steps"] / 5, abs=1e-3)
        named = {event["path"] for event in runner.kinds("artifact")}
        assert named == {event["path"] for event in finished.kinds("artifact")}


@pytest.mark.old_python
class TestAStop:
    def test_writes_a_checkpoint_and_ends_in_time(
        self, start_runner: Start, tmp_path: Path
    ) -> None:
        runner = start_runner()
        long = changed(lambda spec: spec["training"].update(epochs=100_000))
        runner.assign(tmp_path, long)
        runner.until_kind("metric")
        runner.process.send_signal(signal.SIGTERM)
        assert runner.finish() == 0
        done = runner.events[-1]
        assert (done["kind"], done["reason"]) == ("done", "cancelled_by_user")
        last = runner.kinds("checkpoint")[-1]
        assert last["step"] >= 1
        assert (tmp_path / last["path"]).exists()
        assert not runner.kinds("artifact")


def test_the_spec_of_these_tests_is_valid() -> None:
    assert spec_from(SPEC).seed == 7
