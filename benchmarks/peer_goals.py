"""What a training step is to reach beside the other libraries, as a table: met or missed."""

from __future__ import annotations

from collections.abc import Iterator
from operator import ge, le
from typing import NamedTuple

from benchmarks.ours import SECOND_THRESHOLD
from benchmarks.peer_tables import DISTURBED, fastest, groups, leanest, load, step_mib
from benchmarks.results import Row
from benchmarks.tables import table

THREADS = 2
EXACT, GATED = "exact", "gated 0.9"
# How many times as fast as the fastest float32 peer: exact, gated, and the forward pass.
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
    train_peer, forward_peer = fastest(group, "train"), fastest(group, "forward")
    narrow_peer = fastest(group, "train", float32=False)
    wanted = [
        ("exact step", train_peer, EXACT, "train", exact),
        ("gated step", train_peer, GATED, "train", gated),
        ("exact forward pass", forward_peer, EXACT, "forward", forward),
        ("gated forward pass", forward_peer, GATED, "forward", forward),
        ("exact step beside bfloat16", narrow_peer, EXACT, "train", NARROW),
    ]
    for what, peer, variant, part, bound in wanted:
        if peer is not None:
            times = peer["result"][part]["ms"] / peer["ours"][variant][part]["ms"]
            yield Goal(f"{config}, {what}", "≥", bound, times, load(peer) > DISTURBED)


def _memory(config: str, group: list[Row]) -> Iterator[Goal]:
    peer = leanest(group)
    if peer is None:
        return
    for variant in SECOND_THRESHOLD:
        share = step_mib(peer["ours"][variant]) / step_mib(peer["result"])
        yield Goal(f"{config}, memory of a step, {variant}", "≤", MEMORY, share)
