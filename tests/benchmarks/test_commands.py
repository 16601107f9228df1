"""Each command of the benchmark programs runs with a small setting."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from benchmarks.common import tables
from benchmarks.common.processes import in_fresh_process
from benchmarks.emulator import connections
from benchmarks.training.network import SECOND_THRESHOLD
from ipulse.client import JobEvent

ROOT = Path(__file__).resolve().parents[2]


class TestCommands:
    @pytest.mark.parametrize("program", ["training", "service", "emulator"])
    def test_help_shows_examples_of_every_command(self, program: str) -> None:
        text = _run(f"benchmarks.{program}", "--help")
        source = (ROOT / "benchmarks" / program / "__main__.py").read_text()
        for command in re.findall(r'^    "([\w-]+)": "', source, re.MULTILINE):
            assert f"python -m benchmarks.{program} {command}" in text

    def test_an_unknown_command_is_refused(self) -> None:
        command = [sys.executable, "-m", "benchmarks.training", "fly"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 2
        assert "'fly'" in done.stderr
        assert "special-paths" in done.stderr

    @pytest.mark.verify
    def test_training_measures_a_step_in_seconds(self, tmp_path: Path) -> None:
        output = tmp_path / "step.csv"
        options = ["--config", "S", "--seconds", "0.05", "--output", str(output)]
        _run("benchmarks.training", "step", *options)
        comments, rows = tables.read_table(output)
        assert comments["command"].startswith("python -m benchmarks.training step")
        assert [row["variant"] for row in rows] == list(SECOND_THRESHOLD)
        assert all(float(row["train_ms"]) > float(row["forward_ms"]) > 0 for row in rows)

    def test_training_counts_stored_bytes(self) -> None:
        text = _run("benchmarks.training", "memory", "--config", "S")
        assert re.search(r"\| S \| exact \| spikes \| 1600.0 \| 51200 \| 0.03125 \|", text)

    @pytest.mark.verify
    def test_training_breaks_a_step_down(self) -> None:
        options = ["--config", "S", "--variant", "gated 0.9", "--seconds", "0.05"]
        text = _run("benchmarks.training", "breakdown", *options)
        for part in ("whole step", "gather", "backward 1", "optimizer", "TensorFlow"):
            assert f"| S | gated 0.9 | {part} |" in text

    @pytest.mark.sample(0)
    def test_service_measures_submissions(self, tmp_path: Path) -> None:
        output = tmp_path / "submit.csv"
        options = ["--jobs", "5", "--warm-up", "1", "--output", str(output)]
        _run("benchmarks.service", "submit", *options)
        _, rows = tables.read_table(output)
        assert [row["until"] for row in rows] == ["answer", "fsync of 4 KiB"]
        assert all(float(row["p50_ms"]) > 0 for row in rows)

    def test_emulator_counts_the_cycles_of_the_op(self, tmp_path: Path) -> None:
        output = tmp_path / "op.csv"
        small = ["--sizes", "96,48,10", "--steps", "3", "--batch", "4", "--capacity", "0.1"]
        _run("benchmarks.emulator", "op", *small, "--output", str(output))
        _, rows = tables.read_table(output)
        assert [row["pass"] for row in rows] == ["forward", "backward", "adam"]
        for row in rows[:2]:
            cycles = sum(float(row[part]) for part in ("sync", "exchange", "compute", "host"))
            assert cycles == pytest.approx(float(row["turn"]), abs=1)

    def test_emulator_times_itself_and_the_cpu(self) -> None:
        small = ["--sizes", "96,48,10", "--steps", "3", "--batch", "4"]
        assert "| backward |" in _run("benchmarks.emulator", "speed", *small)

    def test_the_seconds_of_a_phase_end_with_the_next_event(self) -> None:
        begin = datetime(2026, 1, 1)
        events = [
            JobEvent(n, begin + timedelta(seconds=2**n), 1, kind, {}, {"phase": phase})
            for n, (kind, phase) in enumerate(
                [("phase", "prepare"), ("phase", "compile"), ("state", "")]
            )
        ]
        assert connections.phase_seconds(events) == {"prepare_s": 1.0, "compile_s": 2.0}

    def test_an_error_in_a_fresh_process_is_raised_here(self) -> None:
        with pytest.raises(FileNotFoundError, match="no-such-folder"):
            in_fresh_process(os.listdir, "no-such-folder")


def _run(module: str, *arguments: str) -> str:
    command: Sequence[str] = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout
