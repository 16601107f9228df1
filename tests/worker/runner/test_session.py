"""The protocol, spoken with real runner processes."""

from __future__ import annotations

import copy
import json
import os
import resource
import signal
from pathlib import Path
from typing import Any, Callable, Dict

import pytest
import tensorflow as tf

from ipulse_core.errors import InvalidSpec, Problem
from ipulse_ops.lif.cpu import native
from ipulse_ops.lif.cpu.native import BuildFailed
from ipulse_worker.runner.cancellation import Cancellation, Cancelled
from ipulse_worker.runner.clock import Clock, Timeline
from ipulse_worker.runner.data import DataUnavailable
from ipulse_worker.runner.data.dataset import DataInvalid, DataTooLarge
from ipulse_worker.runner.event_writer import EventWriter
from ipulse_worker.runner.runner_start import RunnerStart
from ipulse_worker.runner.session import outcome_of, run_attempt, warm_up
from ipulse_worker.runner.training.divergence import Diverged

from .attempts import attempt
from .conftest import SPEC, Start
from .driven_runner import SECONDS, DrivenRunner
from .resolver import check_event
from .specs import spec_from

PHASES = ["prepare", "compile", "acquire", "run", "report"]


def changed(change: Callable[[Dict[str, Any]], None]) -> Dict[str, Any]:
    spec = copy.deepcopy(SPEC)
    change(spec)
    return spec


def assignment(**changes: Any) -> Dict[str, Any]:
    given = {"protocol": 1, "job_id": "job_1", "attempt": 1, "work_dir": "/nowhere", "spec": SPEC}
    return {**given, **changes}


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
    @pytest.mark.same_on_every_python
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
    def test_writes_all_results_of_the_epochs_so_far(
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


class TestALoss:
    def test_resumes_to_the_same_bits_after_a_kill(
        self, start_runner: Start, finished_dir: Path, tmp_path: Path
    ) -> None:
        """Killed with -9 right after a checkpoint, resumed by another process: the same weights
        and the same figures as a training that nothing happened to."""
        lost = start_runner()
        lost.assign(tmp_path / "lost", SPEC)
        checkpoint = lost.until(lambda e: bool(e["kind"] == "checkpoint" and e["epoch"] >= 3))
        lost.process.kill()
        assert lost.finish() == -signal.SIGKILL
        assert not lost.kinds("done"), "the training was over before it could be killed"

        resumed = start_runner()
        resumed.assign(tmp_path / "resumed", SPEC, tmp_path / "lost" / checkpoint["path"])
        assert resumed.finish() == 0, resumed.printed()
        assert resumed.events[-1]["reason"] == "completed"
        assert resumed.kinds("metric")[0]["step"] > checkpoint["step"]
        for name in ("weights.npz", "metrics.jsonl"):
            after, before = tmp_path / "resumed" / name, finished_dir / name
            assert after.read_bytes() == before.read_bytes(), name

    def test_while_reporting_costs_no_training(
        self, start_runner: Start, finished_dir: Path, tmp_path: Path
    ) -> None:
        """An attempt that resumes from the last step only writes the results."""
        runner = start_runner()
        runner.assign(tmp_path, SPEC, finished_dir / "checkpoint.npz")
        assert runner.finish() == 0, runner.printed()
        assert runner.events[-1]["reason"] == "completed"
        assert not runner.kinds("metric")
        for name in ("weights.npz", "metrics.jsonl"):
            assert (tmp_path / name).read_bytes() == (finished_dir / name).read_bytes(), name
        assert "This attempt ran no training step" in (tmp_path / "report.html").read_text()

    def test_of_the_agent_ends_the_runner(self, start_runner: Start, tmp_path: Path) -> None:
        runner = start_runner()
        runner.assign(tmp_path, changed(lambda spec: spec["training"].update(epochs=100_000)))
        runner.until_kind("metric")
        runner.stop_listening()
        assert runner.process.wait(timeout=SECONDS) != 0


class TestAFailure:
    def test_of_the_training_is_called_diverged(
        self, threads_are_set: None, tmp_path: Path
    ) -> None:
        """Adam that forgets all squares divides by nothing wherever a synapse was not used."""

        def spoil(spec: Dict[str, Any]) -> None:
            # Each step makes the weights 10,000 times as large.
            spec["training"]["optimizer"] = {
                "kind": "adamw",
                "learning_rate": 10.0,
                "weight_decay": 1000.0,
            }

        done = attempt(tmp_path / "work", changed(spoil)).done
        assert done["reason"] == "diverged"
        assert "no longer a finite number at step" in done["message"]
        assert "learning_rate" in done["message"]

    def test_of_memory_names_what_to_reduce(self, start_runner: Start, tmp_path: Path) -> None:
        """1.7 GB of membranes for a process that may have one more GiB."""

        def grow(spec: Dict[str, Any]) -> None:
            spec["network"]["layers"] = [{"neurons": 65_535}]
            spec["training"]["batch_size"] = 160

        runner = start_runner()
        runner.until_kind("ready")
        status = Path(f"/proc/{runner.process.pid}/status").read_text()
        present = int(status.split("VmSize:")[1].split()[0]) * 1024
        limit = present + 2**30
        resource.prlimit(runner.process.pid, resource.RLIMIT_AS, (limit, limit))
        runner.assign(tmp_path, changed(grow))
        assert runner.finish() == 0
        done = runner.events[-1]
        assert done["reason"] == "out_of_memory", runner.printed()
        assert "smaller training.batch_size" in done["message"]

    def test_of_the_data_has_an_install_hint(self, start_runner: Start, tmp_path: Path) -> None:
        shadow = tmp_path / "shadow" / "sklearn"
        shadow.mkdir(parents=True)
        (shadow / "__init__.py").write_text("raise ImportError('no sklearn today')\n")
        source = str(Path(__file__).resolve().parents[3])
        runner = start_runner({"PYTHONPATH": f"{shadow.parent}:{source}"})
        runner.assign(tmp_path / "work", SPEC)
        assert runner.finish() == 0
        done = runner.events[-1]
        assert done["reason"] == "data_unavailable"
        assert "no sklearn today" in done["message"]
        assert "pip install scikit-learn" in done["message"]
        assert "Traceback" not in runner.printed()

    def test_of_the_kernels_has_an_install_hint(self, start_runner: Start, tmp_path: Path) -> None:
        runner = start_runner({"PATH": str(tmp_path), "IPULSE_CACHE": str(tmp_path / "cache")})
        runner.assign(tmp_path / "work", SPEC)
        assert runner.finish() == 0
        done = runner.events[-1]
        assert done["reason"] == "kernel_unavailable"
        assert "apt-get install g++" in done["message"]


class TestSeeThrough:
    @pytest.mark.parametrize(
        ("line", "words"),
        [
            (b"not json\n", "The document is not valid JSON"),
            (b'{"protocol": 1}\n', "'work_dir'"),
            (b"[1]\n", "must be a mapping"),
            (
                json.dumps(assignment(protocol=2)).encode(),
                "/protocol: this runner uses protocol 1",
            ),
        ],
    )
    def test_answers_what_it_cannot_understand(self, line: bytes, words: str) -> None:
        reader, writer = os.pipe()
        try:
            before = signal.getsignal(signal.SIGTERM)
            timeline = Timeline(Clock())
            done = run_attempt(line, EventWriter(writer), Cancellation(), timeline, RunnerStart())
        finally:
            signal.signal(signal.SIGTERM, before)
            os.close(reader)
            os.close(writer)
        assert done.reason == "runner_error"
        assert words in done.message


class TestOutcomeOf:
    @pytest.mark.parametrize(
        ("error", "reason", "text"),
        [
            (Cancelled(), "cancelled_by_user", "Cancelled"),
            (DataUnavailable("gone: get it"), "data_unavailable", "gone: get it"),
            (DataInvalid("a.npz: wrong"), "data_invalid", "a.npz: wrong"),
            (DataTooLarge("the data set a"), "out_of_memory", "loading the data set a. Use fewer"),
            (BuildFailed("g++ failed"), "kernel_unavailable", "g++ failed"),
            (MemoryError(), "out_of_memory", "smaller training.batch_size"),
            (
                tf.errors.ResourceExhaustedError(None, None, "OOM"),
                "out_of_memory",
                "smaller training.batch_size",
            ),
            (
                tf.errors.InvalidArgumentError(None, None, "ids must be [time, batch]"),
                "runner_error",
                "InvalidArgumentError: ids must be",
            ),
            (Diverged("the loss"), "diverged", "the loss"),
            (InvalidSpec([Problem("/seed", "x", "no")]), "runner_error", "/seed: no"),
            (ZeroDivisionError("by zero\nmore"), "runner_error", "ZeroDivisionError: by zero ("),
            (RuntimeError("x" * 10_000), "runner_error", "RuntimeError: xxx"),
        ],
    )
    def test_has_a_reason_and_a_message(self, error: Exception, reason: str, text: str) -> None:
        done = outcome_of(error, cancelled=False)
        assert done.reason == reason
        assert text in done.message
        check_event({"kind": "done", "reason": reason, "message": done.message})

    def test_after_a_cancel_is_cancelled_whatever_broke(self) -> None:
        assert outcome_of(BuildFailed("killed"), cancelled=True).reason == "cancelled_by_user"


def test_the_spec_of_these_tests_is_valid() -> None:
    assert spec_from(SPEC).seed == 7
