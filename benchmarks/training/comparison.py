"""Compare our training step with other libraries, in interleaved rounds of one run.

    python -m benchmarks.training peers                       the fastest peers of configs A to D
    python -m benchmarks.training peers --config A --all      every peer
    python -m benchmarks.training peers --config S --peer tf_keras_rnn --quick
    python -m benchmarks.training peers --list

All systems start from the same weights, spikes and labels. The gradients of each must agree with
the float64 reference on config S before it is timed. The first use of an environment installs it
with pip (about 1 GB each) under $IPULSE_CACHE, else ~/.cache/ipulse.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.common import command_line
from benchmarks.common.environments import MissingEnvironment, python_of
from benchmarks.common.tables import Row, finish
from benchmarks.training import gradient_check
from benchmarks.training.catalogue import FASTEST, GUARD_MARGIN, GUARDS, PEERS
from benchmarks.training.network import SECOND_THRESHOLD
from benchmarks.training.peer_process import Ended, OverBudget, PeerProcess, our_python
from benchmarks.training.rounds import Budget, measure
from benchmarks.training.workload import CONFIGS, draw

PASSES = ("forward", "train")
# Float32 against float64, as for a peer; a spike that flips by rounding would cost more.
OUR_TOLERANCE = 1e-4
DISTURBED = 0.5  # background CPUs above which a ratio is not reported
REQUIREMENTS = Path(__file__).with_name("peers")


class Comparison:
    """Runs systems and remembers which ones passed the gradient check."""

    def __init__(self, budget: Budget, scratch: Path) -> None:
        self._budget = budget
        self._scratch = scratch
        self._checks: dict[str, Row] = {}

    def rows(self, config: str, threads: int, peer: str) -> list[Row]:
        """Return a row for a peer and for each of our variants, from the same rounds.

        `speedup` is the peer's milliseconds divided by ours. Instead of figures the peer's row has
        `status` "missing" (its environment), "refused" (its gradients are wrong), "over budget" or
        "failed", with a reason.
        """
        row: Row = {"config": config, "threads": threads, "peer": peer, "system": peer}
        try:
            check = self.check(peer)
            tolerance = PEERS[peer].tolerance
            if tolerance is not None and check["gradient_error"] > tolerance:
                reason = f"a gradient differs from the reference by {check['gradient_error']:.1e}"
                return [{**row, "status": "refused", "reason": reason}]
            results = self._timed(config, threads, peer)
        except MissingEnvironment as error:
            return [{**row, "status": "missing", "reason": str(error)}]
        except (Ended, OverBudget, ValueError) as error:
            return [{**row, "status": "failed", "reason": str(error)}]
        rows = []
        baseline = results[peer]
        for name, result in results.items():
            system = {**row, "system": name, **result}
            if name == peer:
                system["gradient_error"] = check["gradient_error"]
            for what in PASSES:
                ms, base = result.get(f"{what}_ms"), baseline.get(f"{what}_ms")
                loads = (result.get("background_cpus", 0), baseline.get("background_cpus", 0))
                if name != peer and ms and base and max(loads) <= DISTURBED:
                    system[f"{what}_speedup"] = base / ms
            rows.append(system)
        return rows

    def check(self, system: str) -> Row:
        """Return the errors of loss and gradients against the reference on config S."""
        if system not in self._checks:
            variant = system.removeprefix("ipulse:") if system.startswith("ipulse:") else "exact"
            path = self._scratch / "gradients.npz"
            with self._start(system, gradient_check.CONFIG, 1) as process:
                answer = process.ask(f"gradients {path}", self._budget.first_call)
            loss, _ = gradient_check.reference_gradients(variant)
            self._checks[system] = {
                "gradient_error": gradient_check.gradient_error(path, variant),
                "loss_error": abs(answer["loss"] - loss) / abs(loss),
                "rates": answer["rates"],
            }
            path.unlink()
        return self._checks[system]

    def check_ours(self) -> None:
        """Raise AssertionError if one of our variants is wrong."""
        for variant in SECOND_THRESHOLD:
            errors = self.check(f"ipulse:{variant}")
            assert errors["gradient_error"] < OUR_TOLERANCE, (variant, errors)

    def _timed(self, config: str, threads: int, peer: str) -> dict[str, Row]:
        systems: list[PeerProcess] = []
        results: dict[str, Row] = {}
        before: dict[str, float] = {}
        try:
            for name in (peer, *(f"ipulse:{variant}" for variant in SECOND_THRESHOLD)):
                system = self._start(name, config, threads)
                systems.append(system)
                before[name] = system.ask("memory", 60)["resident_mib"]
                package, version = next(iter(system.built["versions"].items()))
                results[name] = {"version": f"{package} {version}"}
            for what in PASSES:
                for name, found in measure(systems, what, self._budget).items():
                    results[name] |= _figures(what, found, results[name])
                for system in list(systems):
                    if f"{what}_ms" not in results[system.name]:
                        systems.remove(system)
                        system.close()
                        continue
                    peak = system.ask("memory", 60)["peak_mib"]
                    most = max(peak, results[system.name].get("peak_mib", 0))
                    step = most - before[system.name]
                    results[system.name] |= {"peak_mib": most, "step_mib": step}
        finally:
            for system in systems:
                system.close()
        return results

    def _start(self, name: str, config: str, threads: int) -> PeerProcess:
        workload = self._scratch / f"{config}.npz"
        if not workload.exists():
            draw(CONFIGS[config]).save(workload)
        ours = name.startswith("ipulse:")
        python = our_python() if ours else python_of(PEERS[name].environment, REQUIREMENTS)
        return PeerProcess(name, python, workload, config, threads, self._scratch / "child.log")


def _figures(what: str, found: Row, before: Row) -> Row:
    if "ms" not in found:
        return {"status": "over budget", "reason": f"one {what} pass exceeds the limit"}
    figures = {f"{what}_{key}": found[key] for key in ("ms", "q1_ms", "q3_ms")}
    figures["first_step_s"] = before.get("first_step_s", 0.0) + found["first_ms"] / 1e3
    for key in ("background_cpus", "preempted", "core_latency_ns"):
        figures[key] = max(found[key], before.get(key, 0.0))
    return figures


def missed_guards(rows: list[Row]) -> list[str]:
    """Return a message per regression guard that the measured rows miss."""
    messages = []
    for row in rows:
        peer, exact, gated = GUARDS.get(row["config"], ("", 0, 0))
        goal = {"ipulse:exact": exact, "ipulse:gated 0.9": gated}.get(row["system"])
        speedup = row.get("train_speedup")
        if row["peer"] != peer or row["threads"] != 2 or goal is None or speedup is None:
            continue
        if speedup < goal * (1 - GUARD_MARGIN):
            messages.append(
                f"{row['config']}: {row['system']} is {speedup:.1f} times as fast as {peer}; "
                f"the guard is {goal * (1 - GUARD_MARGIN):.1f}"
            )
    return messages


def line(rows: list[Row]) -> str:
    """Return one line that describes a peer's rows."""
    peer, *ours = rows
    head = f"{peer['config']} {peer['threads']} {peer['peer']:28}"
    if "reason" in peer:
        return f"{head} {peer['status']}: {peer['reason']}"
    texts = []
    for what in PASSES:
        speedups = [row.get(f"{what}_speedup") for row in ours]
        ratios = ", ".join("disturbed" if one is None else f"{one:.1f}x" for one in speedups)
        texts.append(f"{what} {peer[f'{what}_ms']:8.1f} ms, {ratios}")
    return f"{head} {'; '.join(texts)}; background CPU {peer['background_cpus']:.2f}"


def parser() -> argparse.ArgumentParser:
    """Return the command line's parser."""
    result = command_line.parser("training peers", __doc__)
    result.add_argument("--config", choices=sorted(CONFIGS), action="append", help="default: A-D")
    result.add_argument("--peer", choices=PEERS, action="append", metavar="PEER")
    result.add_argument("--all", action="store_true", help="every peer, not the fastest ones")
    result.add_argument("--threads", type=int, default=2)
    result.add_argument(
        "--seconds", type=float, default=Budget.seconds, help="per system and pass (%(default)s)"
    )
    result.add_argument(
        "--limit", type=float, default=Budget.limit, help="largest of these seconds (%(default)s)"
    )
    result.add_argument(
        "--waiting",
        type=float,
        default=Budget.waiting,
        help="seconds per pass for repeating rounds that other programs disturb (%(default)s)",
    )
    result.add_argument("--quick", action="store_true", help="1 second, three rounds, no waiting")
    result.add_argument("--list", action="store_true", help="print the peers and stop")
    return result


def main(arguments: list[str]) -> int:
    """Run the command line; exit code 1 if a regression guard is missed."""
    options = parser().parse_args(arguments)
    if options.list:
        for name, peer in PEERS.items():
            print(f"{name:28} {peer.note}")
        return 0
    budget = Budget(options.seconds, limit=options.limit, waiting=options.waiting)
    if options.quick:
        budget = Budget(1.0, rounds=3, limit=30.0, waiting=0.0)
    print(f"speedup of our variants: {', '.join(SECOND_THRESHOLD)}", file=sys.stderr)
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as scratch:
        comparison = Comparison(budget, Path(scratch))
        comparison.check_ours()
        for config in options.config or "ABCD":
            for peer in options.peer or (PEERS if options.all else FASTEST[config]):
                found = comparison.rows(config, options.threads, peer)
                rows += found
                print(line(found), file=sys.stderr, flush=True)
    finish(rows, options.output)
    missed = missed_guards(rows)
    print("\n".join(missed), end="", file=sys.stderr)
    return 1 if missed else 0
