"""The benchmark programs: statistics, interleaved rounds, checks, and that each command runs."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import psutil
import pytest

from benchmarks.common import core_latency, environments, machine, tables
from benchmarks.common.machine import MachineLoad
from benchmarks.common.processes import in_fresh_process
from benchmarks.emulator import connections, op_proof
from benchmarks.service import clients, load, parts
from benchmarks.service.systems import catalogue as systems
from benchmarks.service.systems.celery import CelerySystem
from benchmarks.service.systems.ipulse import IpulseSystem
from benchmarks.training import breakdown, comparison, gradient_check
from benchmarks.training.catalogue import FASTEST, GUARDS, PEERS
from benchmarks.training.network import SECOND_THRESHOLD
from benchmarks.training.peer_process import Ended, OverBudget, PeerProcess
from benchmarks.training.rounds import Budget, Round, interleave, least_loaded, summary
from benchmarks.training.workload import CONFIGS, draw
from ipulse.client import JobEvent
from ipulse_ops.lif.cpu import native

ROOT = Path(__file__).resolve().parents[1]
# A peer that runs in the tests' own environment, where Keras is installed.
KERAS = "tf_keras_rnn"


@pytest.fixture
def quick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> comparison.Comparison:
    """A comparison of one of our variants with a peer in this environment, in seconds."""
    monkeypatch.setattr(comparison, "python_of", lambda *_: Path(sys.executable))
    monkeypatch.setattr(comparison, "SECOND_THRESHOLD", {"gated 0.9": 0.9})
    budget = Budget(seconds=0.1, rounds=2, limit=60.0, waiting=0.0)
    return comparison.Comparison(budget, tmp_path)


class TestComparison:
    @pytest.mark.slow
    def test_checks_a_peer_and_times_it_with_our_variant(
        self, quick: comparison.Comparison
    ) -> None:
        assert quick.check(KERAS)["rates"] == pytest.approx([0.05, 0.05], abs=0.02)
        peer, ours = rows = quick.rows("S", 1, KERAS)

        assert (peer["system"], ours["system"]) == (KERAS, "ipulse:gated 0.9")
        assert peer["gradient_error"] < 1e-4
        for row in rows:
            assert row["version"].startswith("tensorflow-cpu 2")
            assert row["peak_mib"] > 0
            assert row["first_step_s"] > 0
            for what in ("forward", "train"):
                assert 0 < row[f"{what}_q1_ms"] <= row[f"{what}_ms"] <= row[f"{what}_q3_ms"]
        if "train_speedup" in ours:  # absent where other programs disturbed the rounds
            assert ours["train_speedup"] == pytest.approx(peer["train_ms"] / ours["train_ms"])
        assert KERAS in comparison.line(rows)

    def test_refuses_a_peer_with_wrong_gradients(
        self, quick: comparison.Comparison, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        errors = {"gradient_error": 2e-4, "loss_error": 0.0, "rates": [0.0, 0.0]}
        monkeypatch.setattr(quick, "check", lambda _: errors)
        (row,) = rows = quick.rows("S", 1, KERAS)
        assert row["status"] == "refused"
        assert "2.0e-04" in row["reason"]
        assert "refused" in comparison.line(rows)

    def test_reports_no_ratio_of_disturbed_rounds(
        self, quick: comparison.Comparison, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        figures = {"forward_ms": 2.0, "train_ms": 4.0, "background_cpus": 0.6}
        ours = {"forward_ms": 1.0, "train_ms": 1.0, "background_cpus": 0.0}
        monkeypatch.setattr(quick, "check", lambda _: {"gradient_error": 0.0})
        monkeypatch.setattr(quick, "_timed", lambda *_: {KERAS: figures, "ipulse:exact": ours})
        assert "train_speedup" not in quick.rows("S", 1, KERAS)[1]
        figures["background_cpus"] = 0.1
        assert quick.rows("S", 1, KERAS)[1]["train_speedup"] == 4.0

    def test_a_regression_guard_holds_or_is_missed(self) -> None:
        row = {"config": "A", "threads": 2, "peer": "torch_compile_layerwise"}
        exact = {**row, "system": "ipulse:exact", "train_speedup": 6.81}
        gated = {**row, "system": "ipulse:gated 0.9", "train_speedup": 12.7}
        (message,) = comparison.missed_guards([row | {"system": row["peer"]}, exact, gated])
        assert message.startswith("A: ipulse:gated 0.9 is 12.7 times as fast")
        assert comparison.missed_guards([exact, gated | {"train_speedup": 12.8}]) == []
        assert (
            comparison.missed_guards([gated | {"peer": "snntorch"}, gated | {"threads": 1}]) == []
        )

    def test_a_missing_environment_is_reported_with_the_reason(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("IPULSE_CACHE", str(tmp_path / "cache"))
        monkeypatch.setattr(environments.venv, "create", lambda *_, **__: None)
        called = []

        def offline(name: str, python: Path, arguments: list[str]) -> None:
            called.append(arguments)
            raise environments.MissingEnvironment("pip could not install torch: no network")

        monkeypatch.setattr(environments, "_pip", offline)
        (row,) = comparison.Comparison(Budget(), tmp_path).rows("S", 1, "torch_layerwise")
        assert row["status"] == "missing"
        assert "no network" in row["reason"]
        assert called == [["torch==2.13.0"]]  # the package that the others depend on comes first


class TestPeerProcess:
    def test_the_last_line_of_a_failed_process_is_reported(self, tmp_path: Path) -> None:
        with pytest.raises(Ended, match="KeyError"):
            _process("nobody", tmp_path)

    def test_a_process_without_an_answer_is_over_budget(self, tmp_path: Path) -> None:
        with pytest.raises(OverBudget, match="within 0 s"):
            _process(KERAS, tmp_path, ready_seconds=0.01)

    def test_a_stopped_process_does_not_outlive_its_parent(self, tmp_path: Path) -> None:
        ready = tmp_path / "ready"  # a process that is ready at once
        ready.write_text("#!/bin/sh\necho '{}'\nexec sleep 600\n")
        ready.chmod(0o700)
        parent = f"""
import os, signal
from pathlib import Path
from benchmarks.training.peer_process import PeerProcess
log = Path({str(tmp_path / "log")!r})
process = PeerProcess("a peer", Path({str(ready)!r}), Path("none"), "S", 1, log)
print(process.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
        done = subprocess.run(
            [sys.executable, "-c", parent], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False
        )
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended already
            descriptor = os.pidfd_open(int(done.stdout))
            ended, _, _ = select.select([descriptor], [], [], 30)
            os.close(descriptor)
            assert ended


def _process(name: str, directory: Path, ready_seconds: float = 300.0) -> PeerProcess:
    workload = directory / "S.npz"
    draw(CONFIGS["S"]).save(workload)
    log = directory / "log"
    return PeerProcess(name, Path(sys.executable), workload, "S", 1, log, ready_seconds)


def _round(*disturbances: float) -> Round:
    """A round in which a program disturbed the first system, and other guests the others."""
    used = {str(k): load * (k == 0) for k, load in enumerate(disturbances)}
    preempted = {str(k): load * (k > 0) for k, load in enumerate(disturbances)}
    return Round({}, used, preempted, dict.fromkeys(used, 50.0))


class TestRounds:
    def test_summary_of_one_call_and_of_many(self) -> None:
        assert summary([3.0]) == {"ms": 3.0, "q1_ms": 3.0, "q3_ms": 3.0, "calls": 1}
        many = summary([4.0, 1.0, 2.0, 3.0, 100.0])
        assert (many["ms"], many["q1_ms"], many["q3_ms"]) == (3.0, 2.0, 4.0)

    def test_functions_are_called_in_turn(self) -> None:
        calls: list[str] = []
        steps = {name: lambda name=name: calls.append(name) for name in "AB"}
        times = interleave(steps, seconds=0.0)
        assert calls == ["A", "B"] * 4  # one call each that does not count
        assert [len(samples) for samples in times.values()] == [3, 3]

    def test_slow_calls_get_fewer_rounds_and_at_least_one(self) -> None:
        budget = Budget(seconds=4.0, rounds=5, limit=60.0)
        assert (budget.calls(1.0), budget.calls(80.0), budget.calls(9e3)) == (20, 10, 1)
        assert budget.affordable_rounds(1e3) == 5
        assert budget.affordable_rounds(25e3) == 2
        assert budget.affordable_rounds(1e6) == 1

    def test_disturbed_rounds_are_repeated_while_there_is_time(self) -> None:
        loads = iter([0.5, 0.0, 0.3, 0.1, 0.9])
        budget = Budget(waiting=60.0)
        kept = least_loaded(lambda: _round(0.0, next(loads)), 2, budget, wait=lambda _: 0.0)
        assert [one.disturbance for one in kept] == [0.0, 0.1]
        assert list(loads) == [0.9]

    @pytest.mark.parametrize("waiting", [0.0, 25.0])
    def test_the_least_disturbed_rounds_count_when_time_is_up(self, waiting: float) -> None:
        loads = iter([0.5, 0.9, 0.3, 0.2, 0.4])
        waits: list[float] = []

        def wait(seconds: float) -> float:
            waits.append(seconds)
            return 10.0

        kept = least_loaded(lambda: _round(next(loads)), 2, Budget(waiting=waiting), wait)
        assert [one.disturbance for one in kept] == ([0.3, 0.5] if waiting else [0.5, 0.9])
        assert [round(seconds) for seconds in waits] == ([25, 15, 5] if waiting else [])

    def test_a_round_on_cores_without_a_shared_cache_counts_last(self) -> None:
        near, far = _round(0.2, 0.0), _round(0.0, 0.0)
        far.latency_ns["1"] = 2 * core_latency.FAR_NS
        rounds = iter([far, near])
        assert least_loaded(lambda: next(rounds), 1, Budget(waiting=60.0), lambda _: 59.9) == [near]


class TestMachine:
    def test_waiting_ends_when_time_is_up_or_the_machine_quiet(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(machine, "preempted_cpus", lambda: 1.0)
        assert 0.01 <= machine.await_quiet(0.01) < 10
        monkeypatch.setattr(machine, "preempted_cpus", lambda: machine.QUIET)
        monkeypatch.setattr(machine, "are_far_apart", lambda: True)
        assert 0.01 <= machine.await_quiet(0.01) < 10
        monkeypatch.setattr(machine, "are_far_apart", lambda: False)
        assert machine.await_quiet(1e6) < 10

    @pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="has a single CPU")
    def test_latency_between_cpus_is_positive_and_none_with_one(self) -> None:
        assert 5 < core_latency.core_latency_ns() < 1e5
        cpus = os.sched_getaffinity(0)
        try:
            os.sched_setaffinity(0, {min(cpus)})
            assert core_latency.core_latency_ns() == 0
        finally:
            os.sched_setaffinity(0, cpus)

    def test_background_load_leaves_out_the_measured_processes(self) -> None:
        before = MachineLoad.now([])
        with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as other:
            deadline = time.monotonic() + 60
            while (with_it := MachineLoad.now([])).cpu_seconds - before.cpu_seconds < 0.9:
                assert time.monotonic() < deadline
            used = psutil.Process(other.pid).cpu_times()
            without_it = MachineLoad.now([other.pid])
            later = MachineLoad.now([])
            other.kill()
        assert with_it.cpu_seconds <= later.cpu_seconds
        assert without_it.cpu_seconds <= later.cpu_seconds - used.user - used.system + 0.1

    def test_the_description_does_not_name_the_machine(self) -> None:
        description = machine.description()
        assert description["processor"]
        assert description["cores"] >= 1
        text = json.dumps(description) + machine.summary_line()
        assert Path("/proc/sys/kernel/hostname").read_text().strip() not in text
        assert str(Path.home()) not in text


class TestTables:
    def test_a_table_is_read_back_with_its_origin(self, tmp_path: Path) -> None:
        path = tmp_path / "a.csv"
        tables.write_table(path, [{"a": 1.23456, "b": "x, y"}, {"a": 2, "c": 3}], "make it")
        comments, rows = tables.read_table(path)
        assert rows == [{"a": "1.235", "b": "x, y", "c": ""}, {"a": "2", "b": "", "c": "3"}]
        assert comments["command"] == "make it"
        assert comments["machine"] == machine.summary_line()
        assert comments["commit"]

    def test_markdown_aligns_figures_to_the_right(self) -> None:
        assert tables.markdown(["a", "b"], [["x", 1]]) == "| a | b |\n| --- | ---: |\n| x | 1 |"

    @pytest.mark.parametrize(
        "path", sorted(ROOT.glob("benchmarks/*/results/*")), ids=lambda path: path.name
    )
    def test_a_stored_table_is_small_and_names_its_origin(self, path: Path) -> None:
        comments, rows = tables.read_table(path)
        assert {"command", "commit", "date", "machine"} <= set(comments)
        assert 0 < len(rows) < 200
        assert all(None not in row and None not in row.values() for row in rows)

    def test_stored_results_and_pictures_stay_small(self) -> None:
        stored = list(ROOT.glob("benchmarks/*/results/*"))
        assert sum(len(path.read_bytes().splitlines()) for path in stored) < 1000
        for picture in ROOT.glob("docs/images/*.svg"):
            assert picture.stat().st_size < 100_000, picture.name


class TestGradientCheck:
    def gradients(self, path: Path, error: float) -> Path:
        _, right = gradient_check.reference_gradients("exact")
        wrong = [right[0], right[1].copy(), right[2]]
        wrong[1].flat[7] += error * np.abs(right[1]).max()
        np.savez(path, *wrong)
        return path

    def test_returns_the_largest_error_of_any_matrix(self, tmp_path: Path) -> None:
        right = self.gradients(tmp_path / "right.npz", 0.0)
        assert gradient_check.gradient_error(right, "exact") == 0
        wrong = self.gradients(tmp_path / "wrong.npz", 0.25)
        assert gradient_check.gradient_error(wrong, "exact") == pytest.approx(0.25)
        nan = self.gradients(tmp_path / "nan.npz", np.nan)
        assert gradient_check.gradient_error(nan, "exact") == np.inf

    def test_distinguishes_our_variants(self, tmp_path: Path) -> None:
        exact = self.gradients(tmp_path / "exact.npz", 0.0)
        errors = [gradient_check.gradient_error(exact, variant) for variant in SECOND_THRESHOLD]
        assert errors[0] == 0
        assert errors[0] < errors[1] < errors[2]

    def test_refuses_other_shapes(self, tmp_path: Path) -> None:
        _, right = gradient_check.reference_gradients("exact")
        np.savez(tmp_path / "turned.npz", *(matrix.T for matrix in right))
        with pytest.raises(ValueError, match="must be"):
            gradient_check.gradient_error(tmp_path / "turned.npz", "exact")
        np.savez(tmp_path / "short.npz", right[0])
        with pytest.raises(ValueError, match="no gradients"):
            gradient_check.gradient_error(tmp_path / "short.npz", "exact")


class TestCatalogue:
    @pytest.mark.parametrize("name", PEERS)
    def test_every_peer_has_its_adapter_and_pinned_packages(self, name: str) -> None:
        peer = PEERS[name]
        adapter = (comparison.REQUIREMENTS / f"{peer.module}.py").read_text()
        assert "def build(" in adapter
        assert all(f"{option}: bool" in adapter for option in peer.options)
        requirements = comparison.REQUIREMENTS / f"requirements-{peer.environment}.txt"
        pins = requirements.read_text().splitlines()
        assert {pin.split("==")[0] for pin in pins if "==" in pin}.issuperset(peer.packages)

    def test_few_peers_are_in_the_tree(self) -> None:
        assert len({peer.module for peer in PEERS.values()}) <= 6
        others = set(systems.SYSTEMS) - set(parts.OURS)
        assert len({name.removesuffix("_durable") for name in others}) <= 4

    def test_the_fastest_peers_of_every_config_exist(self) -> None:
        assert set(FASTEST) == set(CONFIGS)
        assert {name for names in FASTEST.values() for name in names} <= set(PEERS)
        for config, (peer, *_) in GUARDS.items():
            assert peer in FASTEST[config]


class TestBreakdown:
    def test_every_part_of_the_kernels_has_a_name(self) -> None:
        named = set().union(*breakdown.ADDED_UP.values(), *breakdown.BY_LAYER.values())
        # The forward passes: of these networks, and of those with synapses.
        assert set(native.phases()) - named == {"lif_forward", "general_forward"}

    def test_the_parts_add_up_to_the_step(self) -> None:
        clocks = {
            "lif_forward": [3.0, 1.0],
            "select": [0.5, 0.5],
            "dense_product": [4.0, 2.0],
            "weight_gradient": [1.0, 1.0, 1.0],
            "all": [6.0, 10.0],
            "outside": [2.0],
        }
        found = breakdown.split(clocks, state_ms=1.0, adam_ms=0.5)
        assert sum(found.values()) == pytest.approx(18.0)
        assert found["gather"] == 3.0
        assert found["backward 1"] == 4.0
        assert found["weight gradient 3"] == 1.0
        assert found["rest of the kernels"] == pytest.approx(2.0)
        assert found["TensorFlow"] == 1.5


class TestLoad:
    def test_percentiles_of_few_and_many_samples(self) -> None:
        assert clients.percentiles([], "x_") == {}
        assert clients.percentiles([5.0], "x_") == {"x_p50_ms": 5, "x_p99_ms": 5, "x_max_ms": 5}
        many = clients.percentiles([float(n) for n in range(1, 201)])
        assert many == {"p50_ms": 100, "p99_ms": 198, "max_ms": 200}

    def test_errors_are_counted(self) -> None:
        answers = clients.Answers([1.0])
        answers.failed("503")
        answers.failed("ReadTimeout")
        assert answers.figures("status_")["status_errors"] == 2

    def test_the_csv_has_a_row_per_figure(self) -> None:
        rows = [{"system": "a", "p50_ms": 1.0, "p99_ms": 2.0}]
        assert load.flattened("jobs", rows) == [
            {"part": "jobs", "system": "a", "figure": "p50_ms", "value": 1.0},
            {"part": "jobs", "system": "a", "figure": "p99_ms", "value": 2.0},
        ]

    def test_parts_name_systems_that_exist(self) -> None:
        for name, part in parts.PARTS.items():
            assert set(part.systems) <= set(systems.SYSTEMS), name

    def test_the_packages_of_other_services_are_pinned(self) -> None:
        for path in systems.REQUIREMENTS.glob("requirements-*.txt"):
            lines = path.read_text().splitlines()
            assert all("==" in line for line in lines if not line.startswith("#")), path.name

    def test_measures_submissions_lists_streams_and_files(self, tmp_path: Path) -> None:
        with IpulseSystem(tmp_path / "ipulse") as system:
            assert clients.one_by_one(system, system.submission, 5).errors == {}
            figures = parts.backlog(system, tmp_path, True)
            assert figures["queued"] == 100
            assert figures["list_p50_ms"] > 0
            assert parts.streams(system, tmp_path, True)["received"] == 20 * 3
            assert parts.uploads(system, tmp_path, True)["mib_per_second"] > 0
            assert parts.downloads(system, tmp_path, True)["mib_per_second"] > 0

    def test_runs_jobs_of_a_peer(self, tmp_path: Path) -> None:
        with CelerySystem(tmp_path / "celery") as system:
            figures = parts.jobs(system, tmp_path, True)
            assert figures["jobs"] == 3
            assert figures["begin_p50_ms"] > 0
            assert parts.uploads(system, tmp_path, True)["mib_per_second"] > 0


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
        assert "no command 'fly': use one of step" in done.stderr

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

    def test_training_breaks_a_step_down(self) -> None:
        options = ["--config", "S", "--variant", "gated 0.9", "--seconds", "0.05"]
        text = _run("benchmarks.training", "breakdown", *options)
        for part in ("whole step", "gather", "backward 1", "optimizer", "TensorFlow"):
            assert f"| S | gated 0.9 | {part} |" in text

    def test_service_measures_submissions(self, tmp_path: Path) -> None:
        output = tmp_path / "submit.csv"
        options = ["--jobs", "5", "--warm-up", "1", "--output", str(output)]
        _run("benchmarks.service", "submit", *options)
        _, rows = tables.read_table(output)
        assert [row["until"] for row in rows] == ["answer", "wake-up in Redis", "fsync of 4 KiB"]
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

    @pytest.mark.slow
    def test_emulator_proves_the_op_at_full_size(self, tmp_path: Path) -> None:
        output = tmp_path / "proof.csv"
        case = "no reset, policy top"
        _run("benchmarks.emulator", "proof", "--only", case, "--output", str(output))
        _, (row,) = tables.read_table(output)
        assert row["case"] == case
        assert float(row["gradient_error"]) < 1e-5

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
        with pytest.raises(KeyError, match="no such case"):
            in_fresh_process(op_proof.prove, "no such case", "layers", 1)


def _run(module: str, *arguments: str) -> str:
    command: Sequence[str] = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout
