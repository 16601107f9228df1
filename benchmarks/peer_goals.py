"""What a training step is to reach beside the other libraries, as a table: met or missed."""

from __future__ import annotations

from collections.abc import Iterator

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

Line = tuple[str, float, float, bool]  # goal, bound, measured, met


def goals(rows: list[Row]) -> str:
    """Of each config that was measured with two threads."""
    lines = []
    for (config, threads), group in groups(rows):
        if threads != THREADS or config not in SPEEDS:
            continue
        for what, bound, measured, is_met in (*_speeds(config, group), *_memory(group)):
            verdict = "met" if is_met else "**missed**"
            limit = f"{'≤' if what.startswith('memory') else '≥'} {bound:g}"
            lines.append([f"{config}, {what}", limit, f"{measured:.2f}", verdict])
    return table(["", "goal", "measured", ""], lines)


def _speeds(config: str, group: list[Row]) -> Iterator[Line]:
    exact, gated, forward = SPEEDS[config]
    wanted = [
        ("exact step", fastest(group, "train"), EXACT, "train", exact),
        ("gated step", fastest(group, "train"), GATED, "train", gated),
        ("exact forward pass", fastest(group, "forward"), EXACT, "forward", forward),
        ("gated forward pass", fastest(group, "forward"), GATED, "forward", forward),
        (
            "exact step beside bfloat16",
            fastest(group, "train", float32=False),
            EXACT,
            "train",
            NARROW,
        ),
    ]
    for what, peer, variant, part, bound in wanted:
        if peer is not None and load(peer) <= DISTURBED:
            times = peer["result"][part]["ms"] / peer["ours"][variant][part]["ms"]
            yield what, bound, times, times >= bound


def _memory(group: list[Row]) -> Iterator[Line]:
    peer = leanest(group)
    if peer is None:
        return
    for variant in SECOND_THRESHOLD:
        share = step_mib(peer["ours"][variant]) / step_mib(peer["result"])
        yield f"memory of a step, {variant}", MEMORY, share, share <= MEMORY
