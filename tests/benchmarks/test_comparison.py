"""Other libraries are checked before they are timed, in processes that do not leak."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.common import environments
from benchmarks.service import parts
from benchmarks.service.systems import catalogue as systems
from benchmarks.training import comparison
from benchmarks.training.catalogue import FASTEST, GUARDS, PEERS
from benchmarks.training.peer_process import Ended, OverBudget, PeerProcess
from benchmarks.training.rounds import Budget
from benchmarks.training.workload import CONFIGS, draw

ROOT = Path(__file__).resolve().parents[2]


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
    @pytest.mark.verify
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
        assert all(word in message for word in ("A", "gated 0.9", "12.7"))
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
