"""How attempts end that are lost or fail."""

from __future__ import annotations

import json
import os
import resource
import signal
from pathlib import Path
from typing import Any, Dict

import pytest
import tensorflow as tf

from ipulse_core.errors import InvalidSpec, Problem
from ipulse_ops.lif.cpu.native import BuildFailed
from ipulse_worker.runner.cancellation import Cancellation, Cancelled
from ipulse_worker.runner.clock import Clock, Timeline
from ipulse_worker.runner.data import DataUnavailable
from ipulse_worker.runner.data.dataset import DataInvalid, DataTooLarge
from ipulse_worker.runner.event_writer import EventWriter
from ipulse_worker.runner.runner_start import RunnerStart
from ipulse_worker.runner.session import outcome_of, run_attempt
from ipulse_worker.runner.training.divergence import Diverged
from tests.worker.runner.attempts import attempt
from tests.worker.runner.conftest import SPEC, Start
from tests.worker.runner.driven_runner import SECONDS
from tests.worker.runner.resolver import check_event
from tests.worker.runner.session.test_session import changed


def assignment(**changes: Any) -> Dict[str, Any]:
    given = {"protocol": 1, "job_id": "job_1", "attempt": 1, "work_dir": "/nowhere", "spec": SPEC}
    return {**given, **changes}


class TestALoss:
    @pytest.mark.old_python
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
        source = str(Path(__file__).resolve().parents[4])
        runner = start_runner({"PYTHONPATH": f"{shadow.parent}:{source}"})
        runner.assign(tmp_path / "work", SPEC)
        assert runner.finish() == 0
        done = runner.events[-1]
        assert done["reason"] == "library_unavailable"
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
    @pytest.mark.old_python
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
