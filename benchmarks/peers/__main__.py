"""Our training step beside everybody else's, in turns in one run: same weights, spikes and seeds.

    python -m benchmarks.peers --fastest --threads 2   the known leaders of every config: minutes
    python -m benchmarks.peers                         everything: hours
    python -m benchmarks.peers --config A --peer torch_loop --threads 1 --quick
    python -m benchmarks.peers --list

The first use of an environment makes it with pip (about 1 GB each) under $IPULSE_CACHE, else
~/.cache/ipulse. Each side must agree with the float64 reference's gradients on config S before it
is timed. Results go to benchmarks/results/peers.json, those of --fastest to leaders.json, row by
row: a run that was stopped goes on where it was, and `python -m benchmarks.report` makes
docs/performance.md of them.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.ours import SECOND_THRESHOLD
from benchmarks.peers import judge
from benchmarks.peers.catalogue import FASTEST, PEERS, Peer
from benchmarks.peers.environments import MissingEnvironment, python_of
from benchmarks.results import DIRECTORY, Results
from benchmarks.side import Ended, OverBudget, Side, our_python
from benchmarks.turns import Effort, measure
from benchmarks.workload import CONFIGS, draw

PASSES = ("forward", "train")
# Float32 against float64, as for a peer; a spike that flips by rounding would cost more.
OUR_TOLERANCE = 1e-4


class Comparison:
    """Runs sides and remembers who passed the check."""

    def __init__(self, effort: Effort, scratch: Path, starts: int = 1) -> None:
        self._effort = effort
        self._starts = starts
        self._scratch = scratch
        self._checks: dict[str, dict[str, Any]] = {}

    def row(self, config: str, threads: int, peer: Peer) -> dict[str, Any]:
        """One peer beside all of our variants: of several starts of all sides that in the middle,
        and how many times as fast our exact step was in each of them (`starts`). `status` is
        "measured", "over budget" (a pass is missing), "missing" (its environment), "refused" (its
        gradients are wrong) or "failed".
        """
        row: dict[str, Any] = {"config": config, "threads": threads, "peer": peer.name}
        try:
            check = self.check(peer.name)
        except MissingEnvironment as error:
            return {**row, "status": "missing", "reason": str(error)}
        except (Ended, OverBudget, ValueError) as error:
            return {**row, "status": "failed", "reason": str(error)}
        row["check"] = check
        if peer.tolerance is not None and check["gradient"] > peer.tolerance:
            reason = f"a gradient differs from the reference's by {check['gradient']:.1e}"
            return {**row, "status": "refused", "reason": reason}
        try:
            starts = [self._timed(config, threads, peer) for _ in range(self._starts)]
            starts.sort(key=step_ratio)
            told = [step_ratio(one) for one in starts]
            return {**row, **starts[(len(starts) - 1) // 2], "starts": told}
        except (Ended, OverBudget) as error:
            return {**row, "status": "failed", "reason": str(error)}

    def check(self, side: str) -> dict[str, Any]:
        """Deviation from the reference on config S: of the loss and, at worst, of a gradient."""
        if side not in self._checks:
            variant = side.removeprefix("ours:") if side.startswith("ours:") else None
            threshold = SECOND_THRESHOLD[variant] if variant else None
            path = self._scratch / "gradients.npz"
            with self._start(side, judge.CONFIG, 1) as process:
                answer = process.ask(f"gradients {path}", self._effort.patience)
            loss, _ = judge.truth(threshold)
            self._checks[side] = {
                "gradient": judge.deviation(path, threshold),
                "loss": abs(answer["loss"] - loss) / abs(loss),
                "rates": answer["rates"],
            }
            path.unlink()
        return self._checks[side]

    def check_ours(self) -> None:
        """Raises AssertionError if one of our variants is wrong."""
        for variant in SECOND_THRESHOLD:
            found = self.check(f"ours:{variant}")
            assert found["gradient"] < OUR_TOLERANCE, (variant, found)

    def _timed(self, config: str, threads: int, peer: Peer) -> dict[str, Any]:
        names = [peer.name, *(f"ours:{variant}" for variant in SECOND_THRESHOLD)]
        sides: list[Side] = []
        found: dict[str, dict[str, Any]] = {}
        try:
            for name in names:
                sides.append(self._start(name, config, threads))
                before = sides[-1].ask("memory", 60)["resident_mib"]
                found[name] = {**sides[-1].built, "before_mib": before}
            for what in PASSES:
                passes = measure(sides, what, self._effort, CONFIGS[config].batch)
                for side in sides:
                    found[side.name][what] = passes[side.name]
                    if "over_budget_ms" not in passes[side.name]:
                        passes[side.name]["peak_mib"] = side.ask("memory", 60)["peak_mib"]
                for side in [side for side in sides if "ms" not in passes[side.name]]:
                    side.close()
                    sides.remove(side)
        finally:
            for side in sides:
                side.close()
        theirs = found.pop(peer.name)
        complete = all("ms" in theirs.get(what, {}) for what in PASSES)
        return {
            "status": "measured" if complete else "over budget",
            "result": theirs,
            "ours": {name.removeprefix("ours:"): one for name, one in found.items()},
        }

    def _start(self, name: str, config: str, threads: int) -> Side:
        workload = self._scratch / f"{config}.npz"
        if not workload.exists():
            draw(CONFIGS[config]).save(workload)
        ours = name.startswith("ours:")
        python = our_python() if ours else python_of(PEERS[name].environment)
        log = self._scratch / "side.log"
        return Side(name, python, workload, config, threads, log)


def step_ratio(found: dict[str, Any]) -> float:
    """How many times as fast our first variant's training step is; 0 if one has none."""
    sides = (found["result"], *list(found["ours"].values())[:1])
    times = [side.get("train", {}).get("ms") for side in sides]
    return float(times[0] / times[1]) if all(times) else 0.0


def line(row: dict[str, Any]) -> str:
    """What is printed of a row."""
    head = f"{row['config']} {row['threads']} {row['peer']:32}"
    if "result" not in row:
        return f"{head} {row['status']}: {row['reason']}"
    texts = []
    for what in PASSES:
        theirs = row["result"].get(what, {})
        if "ms" not in theirs:
            texts.append(f"{what} over budget")
            continue
        ratios = (
            theirs["ms"] / ours[what]["ms"]
            for ours in row["ours"].values()
            if "ms" in ours.get(what, {})
        )
        texts.append(f"{what} {theirs['ms']:8.1f} ms, {', '.join(f'{r:.1f}x' for r in ratios)}")
    worst = max(
        row["result"][what].get("others_load", 0.0) for what in PASSES if what in row["result"]
    )
    return f"{head} {'; '.join(texts)}; others {worst:.2f}"


def parser() -> argparse.ArgumentParser:
    """The command line."""
    assert __doc__
    found = argparse.ArgumentParser(
        "python -m benchmarks.peers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    found.add_argument("--config", choices=sorted(CONFIGS), action="append", help="default: A to D")
    found.add_argument("--peer", choices=PEERS, action="append", metavar="PEER")
    found.add_argument("--fastest", action="store_true", help="only the config's known leaders")
    found.add_argument("--threads", type=int, action="append", help="default: 2, then 1")
    found.add_argument(
        "--seconds", type=float, default=Effort.seconds, help="of each side and pass"
    )
    found.add_argument("--budget", type=float, default=Effort.budget, help="greatest, in seconds")
    found.add_argument(
        "--waiting",
        type=float,
        default=Effort.waiting,
        help="greatest, in seconds for each pass, for turns while nobody disturbs the machine",
    )
    found.add_argument(
        "--starts",
        type=int,
        default=1,
        help="of all sides anew for each row, of which that in the middle is told: what a compiler "
        "makes of a program, and where its memory lies, differ from process to process",
    )
    found.add_argument(
        "--quick", action="store_true", help="--seconds 1, three turns, --budget 30, --waiting 0"
    )
    found.add_argument("--again", action="store_true", help="also what has a result already")
    found.add_argument("--list", action="store_true", help="the peers, and no more")
    found.add_argument("--results", type=Path, default=DIRECTORY, help=argparse.SUPPRESS)
    return found


def main(arguments: list[str] | None = None) -> None:
    """Measures what is asked for and not there yet."""
    options = parser().parse_args(arguments)
    if options.starts < 1:
        parser().error("--starts: at least 1")
    if options.list:
        for peer in PEERS.values():
            print(f"{peer.name:36} {peer.note}")
        return
    effort = Effort(options.seconds, budget=options.budget, waiting=options.waiting)
    if options.quick:
        effort = Effort(1.0, turns=3, budget=30.0, waiting=0.0)
    settings = {
        "seconds": effort.seconds,
        "turns": effort.turns,
        "budget": effort.budget,
        "starts": options.starts,
    }
    name = "leaders" if options.fastest else "peers"
    results = Results(name, ("config", "threads", "peer"), settings, options.results)
    print(f"config, threads, peer; ours is so many times as fast: {', '.join(SECOND_THRESHOLD)}")
    with tempfile.TemporaryDirectory() as scratch:
        comparison = Comparison(effort, Path(scratch), options.starts)
        comparison.check_ours()
        for config in options.config or "ABCD":
            for threads in options.threads or (2, 1):
                for name in options.peer or (FASTEST[config] if options.fastest else PEERS):
                    place = {"config": config, "threads": threads, "peer": name}
                    if not options.again and results.has(**place):
                        continue
                    row = comparison.row(config, threads, PEERS[name])
                    results.put(row)
                    print(line(row), flush=True)


if __name__ == "__main__":
    sys.exit(main())
