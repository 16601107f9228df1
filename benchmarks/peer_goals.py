"""What a training step is to reach beside the other libraries, as a table: met or missed."""

from __future__ import annotations

from collections.abc import Iterator
from operator import ge, le
from typing import NamedTuple

from benchmarks.ours import SECOND_THRESHOLD
from benchmarks.peer_tables import DISTURBED, by_precision, fastest, groups, leanest, load, step_mib
from benchmarks.peers.catalogue import FASTEST
from benchmarks.results import Row
from benchmarks.tables import table

THREADS = 2
EXACT, GATED = "exact", "gated 0.9"
# How many times as fast as the peer that was the fastest where the goals were set, and as one that
# is faster where they are measured: exact, gated, and the forward pass.
SPEEDS = {"A": (8, 15, 20), "B": (6, 12, 20), "C": (5, 8, 12), "D": (4, 11, 18)}
NARROW = 1.0  # the same, of a float32 step, beside the fastest peer that computes in bfloat16
MEMORY = 0.5  # of what the leanest float32 peer's step adds to its process


class Goal(NamedTuple):
    """One that was measured."""

    what: str
    sign: str
    bound: float
    measured: float
    is_disturbed: bool = False

    def line(self) -> list[str]:
        """Of the table; nothing is said of a time that other programs disturbed."""
        limit = [self.what, f"{self.sign} {self.bound:g}"]
        if self.is_disturbed:
            return [*limit, "", "disturbed"]
        is_met = {"≥": ge, "≤": le}[self.sign](self.measured, self.bound)
        return [*limit, f"{self.measured:.2f}", "met" if is_met else "**missed**"]


def goals(rows: list[Row]) -> str:
    """Of each config that was measured with two threads."""
    lines = []
    for (config, threads), group in groups(rows):
        if threads == THREADS and config in SPEEDS:
            for goal in (*_speeds(config, group), *_memory(config, group)):
                lines.append(goal.line())
    return table(["", "goal", "measured", ""], lines)


def _speeds(config: str, group: list[Row]) -> Iterator[Goal]:
    exact, gated, forward = SPEEDS[config]
    wanted = [
        ("exact step", EXACT, "train", exact),
        ("gated step", GATED, "train", gated),
        ("exact forward pass", EXACT, "forward", forward),
        ("gated forward pass", GATED, "forward", forward),
    ]
    named = [row for row in by_precision(group, True) if row["peer"] == FASTEST[config][0]]
    for what, variant, part, bound in wanted:
        for peer in named:
            yield _times(f"{config}, {what} beside {peer['peer']}", peer, variant, part, bound)
        best = fastest(group, part)
        if best is not None and best not in named:
            told = f"{config}, {what} beside {best['peer']}, the fastest here"
            yield _times(told, best, variant, part, bound)
    narrow = fastest(group, "train", float32=False)
    if narrow is not None:
        yield _times(
            f"{config}, exact step beside {narrow['peer']}", narrow, EXACT, "train", NARROW
        )


def _times(what: str, peer: Row, variant: str, part: str, bound: float) -> Goal:
    times = peer["result"][part]["ms"] / peer["ours"][variant][part]["ms"]
    return Goal(what, "≥", bound, times, load(peer) > DISTURBED)


def _memory(config: str, group: list[Row]) -> Iterator[Goal]:
    peer = leanest(group)
    if peer is None:
        return
    for variant in SECOND_THRESHOLD:
        share = step_mib(peer["ours"][variant]) / step_mib(peer["result"])
        yield Goal(f"{config}, memory of a step, {variant}", "≤", MEMORY, share)
