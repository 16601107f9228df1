"""The measuring itself: what is compared is the same problem, and no result is lost or made up."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path

import httpx
import numpy as np
import psutil
import pytest

from benchmarks import (
    breakdown,
    exchange,
    growth,
    growth_tables,
    machine,
    ours,
    peer_goals,
    peer_tables,
    plots,
    report,
    roofline,
    weight_types,
    work_counts,
)
from benchmarks.load import (
    goals,
    jobs,
    kills,
    parts,
    reading,
    sections,
    sides,
    submitting,
    transfers,
)
from benchmarks.load.ipulse_side import IpulseSide
from benchmarks.load.shim_side import ShimSide
from benchmarks.machine import Load
from benchmarks.ours import SECOND_THRESHOLD
from benchmarks.peers import __main__ as peers
from benchmarks.peers import environments, judge
from benchmarks.peers.catalogue import FASTEST, PEERS, Peer
from benchmarks.results import Results, read, rounded
from benchmarks.side import Ended, OverBudget, Side
from benchmarks.turns import Effort, Turn, quietest, summary
from benchmarks.workload import CONFIGS, draw
from ipulse_ops.lif.cpu import arrays, native
from ipulse_ops.reference.spikes import dense_to_sparse

ROOT = Path(__file__).resolve().parents[1]
# Stands for a library whose environment a test cannot install: Keras is in this one.
KERAS = PEERS["tf_keras_rnn"]


@pytest.fixture
def quick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> peers.Comparison:
    """A comparison of one of our variants with a peer in this environment, in seconds."""
    monkeypatch.setattr(peers, "python_of", lambda _: Path(sys.executable))
    monkeypatch.setattr(peers, "SECOND_THRESHOLD", {"gated 0.9": 0.9})
    return peers.Comparison(Effort(seconds=0.1, turns=2, budget=60.0, waiting=0.0), tmp_path)


class TestComparison:
    @pytest.mark.slow
    def test_a_peer_is_checked_and_then_timed_beside_ours(self, quick: peers.Comparison) -> None:
        row = quick.row("S", 1, KERAS)

        assert row["status"] == "measured", row
        assert row["check"]["gradient"] < 1e-4
        assert row["check"]["rates"] == pytest.approx([0.05, 0.05], abs=0.02)
        for result in (row["result"], row["ours"]["gated 0.9"]):
            assert result["versions"]["keras"]
            for what in ("forward", "train"):
                one = result[what]
                assert 0 < one["min_ms"] <= one["ms"] <= one["max_ms"]
                assert one["turns"] == 2
                assert one["first_ms"] > one["ms"]  # it traces
                assert one["peak_mib"] > 0
        assert "tf_keras_rnn" in peers.line(row)

    def test_of_several_starts_that_in_the_middle_is_told(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        comparison = peers.Comparison(Effort(), tmp_path, starts=4)
        times = iter([40.0, 10.0, 80.0, 20.0])

        def timed(*_: object) -> dict[str, object]:
            theirs, ours = {"train": {"ms": next(times)}}, {"train": {"ms": 5.0}}
            return {"status": "measured", "result": theirs, "ours": {"exact": ours}}

        monkeypatch.setattr(comparison, "check", lambda _: {"gradient": 0.0})
        monkeypatch.setattr(comparison, "_timed", timed)
        row = comparison.row("S", 1, KERAS)
        assert row["starts"] == [2.0, 4.0, 8.0, 16.0]
        assert row["result"]["train"]["ms"] == 20.0  # of two in the middle the worse for us
        assert peer_tables.starts(row) == "2.0x, 4.0x, 8.0x, 16.0x"

    def test_no_start_at_all_is_refused(self, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit):
            peers.main(["--starts", "0"])
        assert "--starts: at least 1" in capsys.readouterr().err

    def test_a_peer_with_wrong_gradients_is_refused(
        self, quick: peers.Comparison, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        check = {"gradient": 2e-4, "loss": 0.0, "rates": [0.0, 0.0]}
        monkeypatch.setattr(quick, "check", lambda _: check)
        row = quick.row("S", 1, KERAS)
        assert row["status"] == "refused"
        assert "2.0e-04" in row["reason"]
        assert "refused" in peers.line(row)

    def test_a_peer_without_its_environment_has_a_row_that_says_so(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("IPULSE_CACHE", str(tmp_path / "cache"))
        monkeypatch.setenv("PIP_NO_INDEX", "1")
        monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
        monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
        monkeypatch.setattr(environments.venv, "create", lambda *_, **__: None)
        called = []

        def offline(name: str, python: Path, arguments: list[str]) -> None:
            called.append(arguments)
            raise environments.MissingEnvironment("pip could not install torch: no network")

        monkeypatch.setattr(environments, "_pip", offline)
        row = peers.Comparison(Effort(), tmp_path).row("S", 1, PEERS["norse"])
        assert row["status"] == "missing"
        assert "no network" in row["reason"]
        assert called == [["torch==2.13.0"]]  # the library that decides comes first

    def test_a_process_that_ends_is_quoted(self, tmp_path: Path) -> None:
        with pytest.raises(Ended, match="KeyError"):
            Side("nobody", Path(sys.executable), workload(tmp_path), "S", 1, tmp_path / "log")

    def test_a_process_without_an_answer_is_over_budget(self, tmp_path: Path) -> None:
        with pytest.raises(OverBudget, match="within 0 s"):
            Side(
                KERAS.name,
                Path(sys.executable),
                workload(tmp_path),
                "S",
                1,
                tmp_path / "log",
                ready_seconds=0.01,
            )

    def test_a_stopped_process_does_not_outlive_its_parent(self, tmp_path: Path) -> None:
        ready = tmp_path / "ready"  # a side that is, at once
        ready.write_text("#!/bin/sh\necho '{}'\nexec sleep 600\n")
        ready.chmod(0o700)
        parent = f"""
import os, signal
from pathlib import Path
from benchmarks.side import Side
side = Side("a side", Path({str(ready)!r}), Path("none"), "S", 1, Path({str(tmp_path / "log")!r}))
print(side.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
        told = subprocess.run(
            [sys.executable, "-c", parent], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False
        )
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it is gone already
            descriptor = os.pidfd_open(int(told.stdout))
            ended, _, _ = select.select([descriptor], [], [], 30)
            os.close(descriptor)
            assert ended


def workload(directory: Path) -> Path:
    """Config S on disk."""
    path = directory / "S.npz"
    draw(CONFIGS["S"]).save(path)
    return path


class TestLoad:
    def test_counts_submissions_streams_and_downloads(self, tmp_path: Path) -> None:
        with ShimSide(tmp_path / "bare") as bare:
            assert submitting.submissions(bare, 5)["requests"] == 5
            assert jobs.lines(bare, 50)["lost"] == 0
        with IpulseSide(tmp_path / "ours") as ours:
            assert submitting.submissions(ours, 5)["requests"] == 5
            assert reading.streams(ours, 3, events=2)["received"] == 3 * 2
            assert transfers.downloads(ours, tmp_path, 1)["mib_per_second"] > 0
            assert transfers.uploads(ours, tmp_path, 1)["mib_per_second"] > 0
            assert jobs.lines(ours, 50)["lost"] == 0
            assert kills.killed_job(ours)["seen_seconds"] is not None

    def test_a_goal_beside_another_side_is_met_or_missed(self) -> None:
        def row(measured: float) -> tuple[str, ...]:
            p50 = {goals.OURS: measured, goals.DURABLE: 8.0}
            return goals.GOALS[0].row({"submissions": {k: {"p50": v} for k, v in p50.items()}})

        limit = "≤ 12 ms (1.5 × bare Celery, durable)"
        assert row(12.0) == ("submission, p50", limit, "12 ms", "met")
        assert row(12.1)[2:] == ("12.1 ms", "missed")
        assert goals.GOALS[0].row({})[3] == "not measured"

    def test_goals_are_beside_prefect_and_mlflow_of_the_same_run(self) -> None:
        figures = {
            "submissions": {goals.PREFECT: {"p50": 48.0, "p99": 62.0}},
            "one_by_one": {goals.PREFECT: {"first_line": {"p50": 9900.0}}},
            "cold": {goals.PREFECT: {"first_job_seconds": 16.0}},
            "downloads": {goals.MLFLOW: {"mib_per_second": 200.0}},
            "uploads": {goals.MLFLOW: {"mib_per_second": 60.0}},
        }
        told = [g.row(figures)[1] for g in goals.GOALS if g.beside in (goals.PREFECT, goals.MLFLOW)]
        assert told == [
            "≤ 14.4 ms (0.3 × Prefect)",
            "≤ 18.6 ms (0.3 × Prefect)",
            "≤ 99 ms (0.01 × Prefect)",
            "≤ 2.4 s (0.15 × Prefect)",
            "≥ 300 MiB/s (1.5 × MLflow)",
            "≥ 180 MiB/s (3 × MLflow)",
        ]

    def test_a_side_that_runs_no_jobs_leaves_cells_empty(self) -> None:
        assert sections.cold({"MLflow": {"answers_seconds": 9.5}})[-1] == "| MLflow | 9.5 |  |"
        assert sections.memory({"MLflow": {"idle_mib": 1900.0}})[-1] == "| MLflow | 1,900 |  |"
        for name, part in parts.PARTS.items():
            assert set(part.sides) <= set(part.possible), name
        assert "mlflow" not in parts.PARTS["one_by_one"].possible

    def test_the_packages_of_other_services_are_pinned(self) -> None:
        for name in set(sides.ENVIRONMENTS.values()):
            told = (sides.REQUIREMENTS / f"requirements-{name}.txt").read_text().splitlines()
            assert all("==" in line for line in told if not line.startswith("#")), name

    def test_copies_a_job_so_that_the_service_finds_the_copies(self, tmp_path: Path) -> None:
        with IpulseSide(tmp_path / "ours") as ours:
            (row,) = reading.stored(ours, ours.ended_job(), [30], requests=5)
            assert row["list"]["requests"] == 5
            listed = httpx.get(ours.url + ours.newest().path, headers=ours.headers()).json()["jobs"]
            assert len(listed) == 30
            assert {job["state"] for job in listed} == {"succeeded"}
            path = f"{ours.url}/v1/jobs/{listed[0]['id']}/events"
            assert httpx.get(path, headers=ours.headers()).json()["end"]


class TestReport:
    def test_each_section_tells_its_machine_where_they_differ(self, tmp_path: Path) -> None:
        def keep(name: str, cores: int) -> None:
            found = read(name)
            found["machine"]["cores"] = cores
            (tmp_path / f"{name}.json").write_text(json.dumps(found))

        keep("memory", 2)
        assert report.page(tmp_path, tmp_path, tmp_path).count("Measured on 2 cores") == 1
        keep("roofline", 4)
        text = report.page(tmp_path, tmp_path, tmp_path)
        assert text.index("What the machine can do") < text.index("Measured on 4 cores")
        assert text.index("Measured on 4 cores") < text.index("Measured on 2 cores")

    def test_a_section_tells_that_its_rows_are_of_several_kernels(self, tmp_path: Path) -> None:
        found = read("memory")
        (tmp_path / "memory.json").write_text(json.dumps(found))
        assert "states of the kernels" not in report.page(tmp_path, tmp_path, tmp_path)
        found["rows"][0]["settings"]["kernels"] = "other"
        (tmp_path / "memory.json").write_text(json.dumps(found))
        told = f"2 states of the kernels: {len(found['rows']) - 1}, 1 of them."
        assert told in report.page(tmp_path, tmp_path, tmp_path)

    def test_counts_follow_the_spikes(self) -> None:
        config = CONFIGS["A"]
        activity = {"spikes": [10.0, 20.0, 30.0], "kept": [5.0, 7.0]}
        found = work_counts.counts(config, activity, exact=False)
        assert found["gather"] == (30 * 256, 4 * 30 * 256)
        assert found["weight gradient 3"] == (30 * 20, 4 * 30 * 20 + 4 * 256 * 20)
        rows = config.steps * config.batch
        assert found["backward 1"][0] == 2 * 5 * 256 + 3 * rows * 256
        # Where more than two in five carry gradient, every neuron is multiplied.
        activity["kept"][1] = 0.41 * rows * 256
        found = work_counts.counts(config, activity, exact=False)
        assert found["backward 2"][0] == 2 * rows * 256 * 20 + 3 * rows * 256

    def test_no_ratio_is_told_of_disturbed_turns(self) -> None:
        def row(load: float) -> dict[str, object]:
            side = {what: {"ms": 1.0, "others_load": load} for what in ("forward", "train")}
            return {"result": side, "ours": {"exact": side}}

        assert peer_tables.ratio(row(0.05), "exact", "train") == "1.0x"
        assert peer_tables.ratio(row(0.6), "exact", "train") == "disturbed"

    def test_types_of_weights_are_told_side_by_side(self) -> None:
        sides = {"float32": {"ms": 3.0}, "bfloat16": {"ms": 2.0}}
        row = {"point": "B", "variant": "exact", "forward": sides, "train": sides}
        assert "| B | exact | 3.0 | 2.0 | 1.50 | 3.0 | 2.0 | 1.50 |" in weight_types.told([row])

    def test_exponents_are_slopes_of_logarithms(self) -> None:
        assert growth_tables.exponent([(1.0, 3.0), (2.0, 12.0), (4.0, 48.0)]) == pytest.approx(2)

    def test_the_fastest_peer_is_one_that_computes_in_float32(self) -> None:
        def row(peer: str, ms: float) -> dict[str, object]:
            return {"peer": peer, "result": {"train": {"ms": ms}}}

        rows = [row("torch_loop", 3.0), row("jax_scan", 2.0), row("torch_layerwise_bf16", 1.0)]
        rows.append({"peer": "norse", "status": "missing"})
        assert peer_tables.fastest(rows, "train") == rows[1]
        assert peer_tables.fastest(rows, "train", float32=False) == rows[2]

    def test_goals_are_met_or_missed_beside_the_peers_of_the_config(self) -> None:
        def side(ms: float, mib: float, others: float = 0.0) -> dict[str, object]:
            one = {"ms": ms, "peak_mib": 100 + mib, "others_load": others}
            return {"train": one, "forward": one, "before_mib": 100}

        mine = {"exact": side(10, 60), "gated 0.5": side(10, 40), "gated 0.9": side(5, 40)}
        row = {"config": "A", "threads": 2, "peer": "jax_scan", "result": side(79, 100)}
        named = {**row, "peer": FASTEST["A"][0], "result": side(81, 150)}
        told = peer_goals.goals([{**row, "ours": mine}, {**named, "ours": mine}])
        here = "beside jax_scan, the fastest here"
        assert f"| A, exact step {here} | ≥ 8 | 7.90 | **missed** |" in told
        assert "| A, exact step beside torch_compile_layerwise | ≥ 8 | 8.10 | met |" in told
        assert f"| A, gated step {here} | ≥ 15 | 15.80 | met |" in told
        assert "| A, memory of a step, exact | ≤ 0.5 | 0.60 | **missed** |" in told
        assert "bfloat16" not in told
        told = peer_goals.goals([{**named, "ours": mine}])
        assert "the fastest here" not in told  # it is the one that is named
        told = peer_goals.goals([{**row, "ours": mine, "result": side(79, 100, others=1)}])
        assert f"| A, exact step {here} | ≥ 8 |  | disturbed |" in told
        assert "| A, memory of a step, exact | ≤ 0.5 | 0.60 | **missed** |" in told


class TestGrowth:
    def test_layers_fire_as_wanted(self) -> None:
        size = growth.Size(neurons=128, steps=40, batch=8, activity=0.05, layers=3)
        work = growth.workload(size)
        network = ours.network_of(work.config, None)
        run = arrays.forward(network, work.weights, *dense_to_sparse(work.spikes))
        rates = [layer.spike_counts[..., 0].mean() / 128 for layer in run.layers]
        assert rates == pytest.approx([0.05] * 3, rel=0.4)

    def test_layers_fire_in_half_of_all_steps_where_that_is_wanted(self) -> None:
        size = growth.Size(neurons=128, steps=20, batch=4, activity=0.5)
        work = growth.workload(size)
        network = ours.network_of(work.config, None)
        run = arrays.forward(network, work.weights, *dense_to_sparse(work.spikes))
        rates = [layer.spike_counts[..., 0].mean() / 128 for layer in run.layers]
        assert rates == pytest.approx([0.5] * 2, rel=0.1)

    def test_the_dense_path_is_a_limit_that_is_met_or_missed(self) -> None:
        def row(value: float, ms: float) -> dict[str, object]:
            passes = {what: {"ms": ms} for what in ("forward", "train")}
            dense = {f"dense_{what}": {"ms": 1.0} for what in passes}
            return {"axis": "activity", "variant": "exact", "value": value, "rates": [value]} | (
                passes | dense
            )

        told = growth_tables.dense_limit([row(0.01, 0.2), row(0.3, 1.1), row(0.5, 0.9)])
        assert "| training step, exact | 1.10 | 30 % | met |" in told
        assert "| forward, exact | 1.11 | 50 % | **missed** |" in growth_tables.dense_limit(
            [row(0.3, 0.5), row(0.5, 1.11)]
        )

    def test_goes_on_where_it_was_stopped(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        told = {"forward": {"ms": 1.0}, "dense_forward": {"ms": 1.0}, "step_mib": 1.0, "rates": []}
        told |= {"train": {"ms": 1.0}, "dense_train": {"ms": 1.0}}
        monkeypatch.setattr(growth, "DIRECTORY", tmp_path)
        monkeypatch.setattr(growth, "in_process", lambda *_: told)
        growth.main(["--axis", "layers", "--within", "-1"])
        assert "the same command again goes on" in capsys.readouterr().out
        growth.main(["--axis", "layers"])
        assert len(capsys.readouterr().out.splitlines()) == 2 * len(growth.AXES["layers"])
        growth.main(["--axis", "layers", "--within", "-1"])
        assert capsys.readouterr().out == ""

    def test_one_size_changes_along_an_axis(self) -> None:
        points = dict(growth.sizes("batch", (8, 16)))
        assert points[8].batch == 8
        assert {point.neurons for point in points.values()} == {growth.Size().neurons}


class TestBreakdown:
    def test_every_part_of_the_kernels_is_told_under_a_name(self) -> None:
        told = set().union(*breakdown.ADDED_UP.values(), *breakdown.BY_LAYER.values())
        # The forward passes: of these networks, and of those with synapses.
        assert set(native.phases()) - told == {"lif_forward", "general_forward"}


class TestRoofline:
    def test_the_program_compiles_and_tells_every_figure(self, tmp_path: Path) -> None:
        figures = roofline.measure(roofline.build(tmp_path), 1, 0.002)
        levels = [f"{what}_{level}" for what in ("read", "add") for level in plots.LEVELS]
        assert set(levels) | {"multiply_add"} <= set(figures)
        assert all(value > 0 for value in figures.values())

    def test_footprints_fit_their_level(self) -> None:
        found = roofline.footprints({"L1": "48K", "L2": "2048K", "L3": "260M"}, 2)
        assert found == {"L1": 24 * 2**10, "L2": 2**20, "L3": 2**24, "DRAM": 2**29}


class TestJudge:
    def gradients(self, path: Path, error: float) -> Path:
        _, truth = judge.truth(None)
        wrong = [truth[0], truth[1].copy(), truth[2]]
        wrong[1].flat[7] += error * np.abs(truth[1]).max()
        np.savez(path, *wrong)
        return path

    def test_measures_the_greatest_error_of_any_matrix(self, tmp_path: Path) -> None:
        assert judge.deviation(self.gradients(tmp_path / "right.npz", 0.0), None) == 0
        wrong = self.gradients(tmp_path / "wrong.npz", 0.25)
        assert judge.deviation(wrong, None) == pytest.approx(0.25)
        assert judge.deviation(self.gradients(tmp_path / "nan.npz", np.nan), None) == np.inf

    def test_knows_our_variants_apart(self, tmp_path: Path) -> None:
        exact = self.gradients(tmp_path / "exact.npz", 0.0)
        deviations = [judge.deviation(exact, gate) for gate in SECOND_THRESHOLD.values()]
        assert deviations[0] == 0
        assert deviations[0] < deviations[1] < deviations[2]

    def test_refuses_other_shapes(self, tmp_path: Path) -> None:
        _, truth = judge.truth(None)
        np.savez(tmp_path / "turned.npz", *(matrix.T for matrix in truth))
        with pytest.raises(ValueError, match="must be"):
            judge.deviation(tmp_path / "turned.npz", None)
        np.savez(tmp_path / "short.npz", truth[0])
        with pytest.raises(ValueError, match="no gradients"):
            judge.deviation(tmp_path / "short.npz", None)


class TestResults:
    keys = ("config", "peer")

    def test_rows_survive_and_are_replaced_by_key(self, tmp_path: Path) -> None:
        results = Results("peers", self.keys, {"seconds": 1}, tmp_path)
        results.put({"config": "B", "peer": "x", "ms": 1.0})
        results.put({"config": "A", "peer": "x", "ms": 2.0})
        results.put({"config": "B", "peer": "x", "ms": 3.0})

        again = Results("peers", self.keys, {"seconds": 1}, tmp_path)
        assert [(row["config"], row["ms"]) for row in again] == [("A", 2.0), ("B", 3.0)]
        assert again.has(config="A", peer="x")
        assert not again.has(config="A", peer="y")

    def test_other_settings_or_kernels_are_measured_again(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        Results("peers", self.keys, {"seconds": 1}, tmp_path).put({"config": "A", "peer": "x"})
        assert not Results("peers", self.keys, {"seconds": 2}, tmp_path).has(config="A", peer="x")
        monkeypatch.setattr("benchmarks.results.kernels_digest", lambda: "other")
        assert not Results("peers", self.keys, {"seconds": 1}, tmp_path).has(config="A", peer="x")

    def test_tell_the_machine_and_not_whose_it_is(self, tmp_path: Path) -> None:
        results = Results("peers", self.keys, {}, tmp_path)
        results.put({"config": "A", "peer": "x"})
        machine = read("peers", tmp_path)["machine"]
        assert machine["processor"]
        assert machine["cores"] >= 1
        text = json.dumps(machine)
        assert Path("/proc/sys/kernel/hostname").read_text().strip() not in text
        assert str(Path.home()) not in text

    def test_round_to_what_a_clock_can_tell(self) -> None:
        assert rounded({"a": [1.2345678, 7, "x", None]}) == {"a": [1.2346, 7, "x", None]}


def _turn(*disturbances: float) -> Turn:
    """One in which one side was disturbed by a program, and each further one by another guest."""
    loads = {str(k): load * (k == 0) for k, load in enumerate(disturbances)}
    gone = {str(k): load * (k > 0) for k, load in enumerate(disturbances)}
    return Turn({}, loads, gone, dict.fromkeys(loads, 50.0))


class TestTurns:
    def test_summary_of_one_call_and_of_many(self) -> None:
        assert summary([3.0], 6)["samples_per_s"] == 2000
        many = summary([4.0, 1.0, 2.0, 3.0, 100.0], 3)
        assert (many["ms"], many["min_ms"], many["max_ms"]) == (3.0, 1.0, 100.0)
        assert many["quartiles_ms"] == [2.0, 4.0]

    def test_slow_calls_get_fewer_turns_and_never_none(self) -> None:
        effort = Effort(seconds=4.0, turns=5, budget=60.0)
        assert (effort.calls(1.0), effort.calls(80.0), effort.calls(9e3)) == (20, 10, 1)
        assert effort.affordable_turns(1e3) == 5
        assert effort.affordable_turns(25e3) == 2
        assert effort.affordable_turns(1e6) == 1

    def test_disturbed_turns_are_taken_again_while_there_is_time(self) -> None:
        loads = iter([0.5, 0.0, 0.3, 0.1, 0.9])
        kept = quietest(lambda: _turn(0.0, next(loads)), 2, waiting=60.0, wait=lambda _: 0.0)
        assert [turn.disturbance for turn in kept] == [0.0, 0.1]
        assert list(loads) == [0.9]

    @pytest.mark.parametrize("waiting", [0.0, 25.0])
    def test_the_least_disturbed_turns_count_when_time_is_up(self, waiting: float) -> None:
        loads = iter([0.5, 0.9, 0.3, 0.2, 0.4])
        waits: list[float] = []

        def wait(seconds: float) -> float:
            waits.append(seconds)
            return 10.0

        kept = quietest(lambda: _turn(next(loads)), 2, waiting, wait)
        assert [turn.disturbance for turn in kept] == ([0.3, 0.5] if waiting else [0.5, 0.9])
        assert [round(seconds) for seconds in waits] == ([25, 15, 5] if waiting else [])

    def test_waiting_ends_when_the_time_is_up_or_the_machine_quiet(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(machine, "lost", lambda: 1.0)
        assert 0.01 <= machine.await_quiet(0.01) < 10
        monkeypatch.setattr(machine, "lost", lambda: machine.QUIET)
        monkeypatch.setattr(machine, "are_far", lambda: True)
        assert 0.01 <= machine.await_quiet(0.01) < 10
        monkeypatch.setattr(machine, "are_far", lambda: False)
        assert machine.await_quiet(1e6) < 10

    def test_a_turn_on_processors_far_from_each_other_counts_last(self) -> None:
        near, far = _turn(0.2, 0.0), _turn(0.0, 0.0)
        far.exchange_ns["1"] = 2 * exchange.FAR_NS
        turns = iter([far, near])
        assert quietest(lambda: next(turns), 1, 60.0, lambda _: 59.9) == [near]

    @pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="has a single processor")
    def test_an_exchange_between_processors_takes_time(self) -> None:
        found = exchange.exchange_ns()
        assert 5 < found < 1e5, "nanoseconds"
        processors = os.sched_getaffinity(0)
        try:
            os.sched_setaffinity(0, {min(processors)})
            assert exchange.exchange_ns() == 0, "with nobody to exchange with"
        finally:
            os.sched_setaffinity(0, processors)

    def test_load_is_what_others_compute(self) -> None:
        before = Load.now([])
        with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as other:
            while psutil.Process(other.pid).cpu_times().user < 1.0:
                time.sleep(0.01)
            with_it = Load.now([])
            without_it = Load.now([other.pid])
            other.kill()
        assert with_it.seconds - before.seconds > 0.9
        assert without_it.seconds < with_it.seconds - 0.5, "though it was asked later"


class TestCatalogue:
    @pytest.mark.parametrize("peer", PEERS.values(), ids=lambda peer: peer.name)
    def test_every_peer_has_its_adapter_and_pinned_packages(self, peer: Peer) -> None:
        directory = ROOT / "benchmarks" / "peers"
        assert "def build(" in (directory / f"{peer.module}.py").read_text()
        pins = (directory / f"requirements-{peer.environment}.txt").read_text().splitlines()
        names = {pin.split("==")[0] for pin in pins if "==" in pin}
        assert names.issuperset(peer.packages)

    def test_the_fastest_are_peers(self) -> None:
        assert set(FASTEST) == set(CONFIGS)
        assert {name for names in FASTEST.values() for name in names} <= set(PEERS)
