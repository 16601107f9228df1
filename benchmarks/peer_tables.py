"""Ours beside other libraries, as tables of docs/performance.md, from rows of benchmarks.peers."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from benchmarks.ours import SECOND_THRESHOLD
from benchmarks.peers.catalogue import PEERS
from benchmarks.results import Row
from benchmarks.tables import ms, table

BUSY = 0.1  # processors used by others, from which on a figure is to be doubted
DISTURBED = 0.5  # and from which on a ratio says nothing


def measured(row: Row) -> bool:
    """Whether it has a training step."""
    return "ms" in row.get("result", {}).get("train", {})


def load(row: Row) -> float:
    """Processors that others used while a comparison's row was measured, at worst."""
    sides = [row["result"], *row["ours"].values()]
    return max(side[what]["others_load"] for side in sides for what in ("forward", "train"))


def lost(*sides: Row) -> str:
    """Processors that other guests took without any count of the system, at worst."""
    passes = [side[what] for side in sides for what in ("forward", "train")]
    found = [one["lost"] for one in passes if "lost" in one]
    return f"{max(found):.2f}" if found else "not measured"


def exchange(*sides: Row) -> str:
    """Nanoseconds of a cache line's way between the processors and back, at worst."""
    passes = [side[what] for side in sides for what in ("forward", "train")]
    found = [one["exchange_ns"] for one in passes if "exchange_ns" in one]
    return f"{max(found):.0f}" if found else "not measured"


def fastest(rows: Iterable[Row], what: str, float32: bool = True) -> Row | None:
    """The peer with the least time, among those that compute in float32 or those that do not."""
    able = by_precision(rows, float32)
    return min(able, key=lambda row: float(row["result"][what]["ms"]), default=None)


def leanest(rows: Iterable[Row]) -> Row | None:
    """The float32 peer whose steps add the least memory to its process."""
    return min(
        by_precision(rows, float32=True), key=lambda row: step_mib(row["result"]), default=None
    )


def by_precision(rows: Iterable[Row], float32: bool) -> list[Row]:
    """Those measured of the peers that compute in float32, or of those that do not."""
    return [row for row in rows if measured(row) and PEERS[row["peer"]].float32 == float32]


def headline(rows: list[Row]) -> str:
    """Ours against the fastest peer, per config and number of threads."""
    lines = []
    for (config, threads), group in groups(rows):
        train, forward = fastest(group, "train"), fastest(group, "forward")
        narrow = fastest(group, "train", float32=False)
        if train is None or forward is None:
            continue
        line = [f"{config}, {threads}", train["peer"], ms(train["result"]["train"]["ms"])]
        for variant in SECOND_THRESHOLD:
            ours = train["ours"][variant]["train"]["ms"]
            line.append(f"{ms(ours)} (**{ratio(train, variant, 'train')}**)")
        best = min(SECOND_THRESHOLD, key=lambda v: float(forward["ours"][v]["forward"]["ms"]))
        line.append(f"{ratio(forward, best, 'forward')} ({forward['peer']})")
        line.append(ratio(narrow, "gated 0.9", "train") if narrow else "")
        sides = (train["result"], *train["ours"].values())
        line += [f"{load(train):.2f}", lost(*sides), exchange(*sides)]
        lines.append(line)
    heads = ["config, threads", "fastest float32 peer", "its step, ms"]
    heads += [f"ours {variant}, ms" for variant in SECOND_THRESHOLD]
    heads += ["forward", "gated 0.9 against bfloat16", "other load", "lost", "exchange, ns"]
    return table(heads, lines)


def ratio(row: Row, variant: str, what: str) -> str:
    """How many times as fast ours is, from medians of the same turns; none if those were disturbed:
    threads that wait for each other lose far more than the share that others take."""
    if load(row) > DISTURBED:
        return "disturbed"
    return f"{row['result'][what]['ms'] / row['ours'][variant][what]['ms']:.1f}x"


def groups(rows: list[Row]) -> list[tuple[tuple[str, int], list[Row]]]:
    """By config and threads, two threads first."""

    def place(row: Row) -> tuple[str, int]:
        return row["config"], -row["threads"]

    found = groupby(sorted(rows, key=place), place)
    return [((config, -threads), list(group)) for (config, threads), group in found]


def peers(rows: list[Row]) -> str:
    """Every peer of one config and number of threads, and ours."""
    lines = []
    for row in sorted(filter(measured, rows), key=lambda r: float(r["result"]["train"]["ms"])):
        version = row["result"]["versions"][PEERS[row["peer"]].packages[0]]
        lines.append(
            [f"{row['peer']} {version}", *figures(row["result"]), starts(row), deviation(row)]
        )
    measured_rows = [row for row in rows if measured(row)]
    for variant in SECOND_THRESHOLD:
        found = [row["ours"][variant] for row in measured_rows if variant in row["ours"]]
        if found:
            # Of the runs beside each peer the one in the middle.
            found.sort(key=lambda side: float(side["train"]["ms"]))
            lines.append([f"**ours, {variant}**", *figures(found[len(found) // 2]), "", ""])
    heads = ["", "train, ms (quartiles)", "samples/s", "forward, ms", "first step, s"]
    heads += ["step's memory, MiB", "peak, MiB", "other load", "lost", "exchange, ns"]
    heads += ["ours exact, each start", "gradient's deviation"]
    text = table(heads, lines)
    for row in rows:
        if not measured(row):
            text += f"\n\n{row['peer']}: {row['status']}. {without_time(row)}"
    return text


def figures(side: Row) -> list[str]:
    """Of a peer or of ours."""
    train, forward = side["train"], side["forward"]
    low, high = train["quartiles_ms"]
    worst = max(train["others_load"], forward["others_load"])
    return [
        f"{ms(train['ms'])} ({ms(low)}..{ms(high)})",
        f"{train['samples_per_s']:.0f}",
        ms(forward["ms"]),
        f"{(train['first_ms'] + forward['first_ms']) / 1e3:.1f}",
        f"{max(train['peak_mib'], forward['peak_mib']) - side['before_mib']:.0f}",
        f"{max(train['peak_mib'], forward['peak_mib']):.0f}",
        f"{worst:.2f}",
        lost(side),
        exchange(side),
    ]


def without_time(row: Row) -> str:
    """Why a peer has no line in its table."""
    if "reason" in row:
        return str(row["reason"])
    for what in ("forward", "train"):
        one = row["result"].get(what, {})
        if "over_budget_ms" in one:
            return f"One {what} pass takes more than {one['over_budget_ms'] / 1e3:.0f} s."
    return ""


def starts(row: Row) -> str:
    """How many times as fast our exact step was in each start; the middle one has the figures."""
    return ", ".join(f"{times:.1f}x" for times in row.get("starts", ()))


def deviation(row: Row) -> str:
    """From the reference on config S, and whether it is meant to be none."""
    text = f"{row['check']['gradient']:.0e}"
    return text if PEERS[row["peer"]].tolerance is not None else f"{text} (by design)"


def memory_of_a_step(rows: list[Row]) -> str:
    """Ours against the leanest float32 peer, whole processes and the step alone."""
    lines = []
    for (config, threads), group in groups(rows):
        light = leanest(group)
        if light is None:
            continue
        whole = min(
            by_precision(group, float32=True),
            key=lambda row: float(row["result"]["train"]["peak_mib"]),
        )
        line = [f"{config}, {threads}"]
        line.append(f"{whole['peer']} {whole['result']['train']['peak_mib']:.0f}")
        line += [f"{whole['ours'][v]['train']['peak_mib']:.0f}" for v in SECOND_THRESHOLD]
        line.append(libraries_mib(whole))
        line.append(f"{light['peer']} {step_mib(light['result']):.0f}")
        line += [f"{step_mib(light['ours'][v]):.0f}" for v in SECOND_THRESHOLD]
        lines.append(line)
    heads = ["config, threads", "leanest peer's peak, MiB"]
    heads += [f"ours {variant}" for variant in SECOND_THRESHOLD]
    heads += ["of that libraries, theirs / ours"]
    heads += ["leanest peer's step, MiB", *(f"ours {variant}" for variant in SECOND_THRESHOLD)]
    return table(heads, lines)


def libraries_mib(row: Row) -> str:
    """What the libraries take before there is a network, of the peer and of ours at most."""
    if "libraries_mib" not in row["result"]:
        return "not measured"
    ours = max(float(side["libraries_mib"]) for side in row["ours"].values())
    return f"{row['result']['libraries_mib']:.0f} / {ours:.0f}"


def step_mib(side: Row) -> float:
    """What the steps added to the process as it was with libraries, weights and input."""
    peak = max(side["train"]["peak_mib"], side["forward"]["peak_mib"])
    return float(peak - side["before_mib"])
