"""Writes docs/performance.md and its plots from benchmarks/results/*.json; no figure is typed.

python -m benchmarks.report [DIRECTORY]
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from benchmarks import (
    exchange,
    growth,
    growth_tables,
    machine,
    peer_goals,
    peer_tables,
    plots,
    tables,
    turns,
    weight_types,
)
from benchmarks.peers.catalogue import PEERS, Peer
from benchmarks.results import DIRECTORY, Row, read
from benchmarks.workload import CONFIGS, INPUTS

ROOT = Path(__file__).resolve().parents[1]
PAGE = "performance.md"
GENERATED = "<!-- Written by `python -m benchmarks.report`; change the code or the results. -->"

METHOD = f"""## The problem and how it is measured

{INPUTS} input channels, two hidden layers of leaky integrate-and-fire neurons with reset to zero, a
leaky readout of 20 classes, cross-entropy of the readout's mean over time, Adam. The same weights,
input spikes and labels, from one seed, for every side. The weights are scaled so that both hidden
layers fire at about the rate of the input.

%s

* A step is forward, loss, backward and update: ours is a whole TensorFlow function with the Keras
  layer, the loss of `ipulse_ops.training.losses` and Adam, called by `ipulse_ops.direct_call`, not
  a bare kernel. Its
  input spikes are ids, a peer's a dense array; both are there before the clock starts. Its kernels
  use the threads of the comparison, TensorFlow itself one, so that no second pool of threads spins
  beside them.
* *exact* gives gradient to every neuron; *gated* to those whose membrane is above a second
  threshold.
* Each side is a process of its own, in its own environment, pinned to as many processors as
  threads. It is stopped while another is asked. Sides are measured in turns (A B A B), each figure
  is a median, and what stands beside a peer was measured in the same turns as that peer.
* What a compiler makes of a program, and where its memory lies, differ from process to process:
  with `--starts` all sides are started anew several times, and what is told is of the start in the
  middle, by how many times as fast our exact step was; the tables have that of each.
* Before it is timed, a side's gradients on a small config (S) are held against the float64
  reference: greatest difference relative to the greatest entry of the matrix. A float32 peer that
  differs by more than {Peer.tolerance:.0e} is refused. Peers whose equations are others are marked
  *by design*.
* *First step* is the first call of both passes, with tracing and compiling; caches on disk are off.
* *Peak* is the most resident memory of the process with its libraries; *step's memory* is what the
  steps added to what was there with libraries, weights and input.
* *Other load* is the number of processors that other programs, or other guests of the same host,
  used meanwhile. Above {peer_tables.BUSY} a figure is to be doubted, above
  {peer_tables.DISTURBED} no ratio is told. *Lost* are processors that were not to be had besides: a
  guest on the other hyperthread of a core takes up to half of it without any count of the system.
  SHA-256 of a block tells, before and after each turn, against the best that the run has seen of
  each processor. *Exchange* is how long a cache line takes from one processor to the other and
  back, at worst: a host may put a guest's processors on cores that share a cache or on cores that
  do not, and move them at any time. While more than {machine.QUIET} processors are used or lost, or
  an exchange takes more than {exchange.FAR_NS:.0f} ns, a turn waits, and one that was disturbed so
  is taken again, for {turns.Effort.waiting:.0f} s of a pass unless `--waiting` says
  otherwise; then the least disturbed turns count.

`make bench-peers` measures (`ARGS="--fastest --threads 2"`: the known leaders in
minutes; everything takes hours), then
`.venv/bin/python -m benchmarks.roofline`, `benchmarks.breakdown`, `benchmarks.growth`,
`benchmarks.memory` and `benchmarks.weight_types`; `.venv/bin/python -m benchmarks.report` writes
this page."""

CAVEATS = """## What to keep in mind

* One machine and one build of each library. Peers run as their documentation shows them, not tuned;
  surrogates of SpikingJelly and Sinabs are passed as callables.
* Dense peers do not get faster with fewer spikes. These configs are as sparse as spiking
  networks are trained to be; for high activity see the table against dense products.
* Medians of repeated runs differ, on shared machines by more than the quartiles tell: small
  differences are ties.
* Training goes on one batch, so that rates drift a little while a side is timed.
* bfloat16 peers do not compute what the others do; they show what matrix units give to dense
  code."""


def page(directory: Path, images: Path, results: Path = DIRECTORY) -> str:
    """The page's text; writes the plots to `images`, which lies beside the page."""
    told = _machines(results)
    is_one = len(set(told.values())) == 1
    text = [GENERATED, "# Performance", *_status(results)]
    if is_one:
        text.insert(2, next(iter(told.values())))
    for section in SECTIONS:
        text.append(f"## {section.title}")
        if section.results in told:
            if not is_one:
                text.append(told[section.results])
            rows = read(section.results, results)["rows"]
            text += [*_kernels(rows), section.text(rows, images, results)]
        else:
            command = section.command or section.results
            text.append(f"Not measured yet: `python -m benchmarks.{command}`.")
    text += [METHOD % _configs(), CAVEATS, "## The peers", _catalogue()]
    return "\n\n".join(text) + "\n"


def _files(results: Path) -> list[Path]:
    """Those of this page; other pages have results of their own there."""
    paths = (results / f"{section.results}.json" for section in SECTIONS)
    return sorted(path for path in paths if path.exists())


def _machines(results: Path) -> dict[str, str]:
    """What each file was measured on; files of this page that are not there are left out."""
    told = {}
    for path in _files(results):
        machine = read(path.stem, results)["machine"]
        caches = ", ".join(f"{name} {size}" for name, size in machine["caches"].items())
        told[path.stem] = (
            f"Measured on {machine['cores']} cores of {machine['processor']}"
            f"{' (virtual)' if machine['virtual'] else ''}, {', '.join(machine['features'])}; "
            f"{caches}; {machine['memory_gib']:.0f} GiB; {machine['system']}, Python "
            f"{machine['python']}, {machine['compiler']}."
        )
    return told


def _status(results: Path) -> list[str]:
    """Whether the figures can be trusted."""
    if not _files(results):
        return ["Nothing has been measured yet."]
    loads = _loads(results)
    busy = sum(load > peer_tables.BUSY for load in loads)
    if not busy:
        return []
    return [
        f"**Preliminary:** {busy} of {len(loads)} rows were measured while other programs used "
        f"more than {peer_tables.BUSY} processors (at worst {max(loads):.1f}). Times, and "
        "ratios even more, are to be measured again on a quiet machine."
    ]


def _kernels(rows: list[Row]) -> list[str]:
    """Whether rows of a section tell of one and the same kernels."""
    of_each = Counter(row["settings"]["kernels"] for row in rows)
    if len(of_each) < 2:
        return []
    counts = ", ".join(str(count) for _, count in of_each.most_common())
    return [f"The rows were measured with {len(of_each)} states of the kernels: {counts} of them."]


def _loads(results: Path) -> list[float]:
    found = []
    for path in _files(results):
        for row in read(path.stem, results)["rows"]:
            if "others_load" in row:
                found.append(float(row["others_load"]))
            elif peer_tables.measured(row):
                found.append(peer_tables.load(row))
    return found


def _configs() -> str:
    lines = [
        [name, str(c.neurons), str(c.steps), str(c.batch), f"{100 * c.rate:g} %"]
        for name, c in CONFIGS.items()
    ]
    return tables.table(["config", "neurons", "steps", "batch", "rate"], lines)


def _catalogue() -> str:
    lines = [f"* `{peer.name}`: {peer.note}" for peer in PEERS.values() if not peer.fused_adam]
    return "\n".join([*lines, "* `...+fused_adam`: the same with PyTorch's `Adam(fused=True)`"])


def _peers(rows: list[Row], images: Path, results: Path) -> str:
    text = [
        "In brackets, how many times as fast ours is, from medians of the same turns.",
        peer_tables.headline(rows),
        f"What is aimed at with {peer_goals.THREADS} threads, in times as fast as the float32 peer "
        "that was the fastest where the goals were set, as the one that is the fastest of the pass "
        "here, if that is another, and as the fastest that computes in bfloat16; memory as a share "
        "of the leanest float32 peer's:",
        peer_goals.goals(rows),
        "Peak resident memory of the training process, which holds the libraries themselves (ours "
        "TensorFlow and Keras), and what its steps added to that:",
        peer_tables.memory_of_a_step(rows),
    ]
    for (config, threads), group in peer_tables.groups(rows):
        c = CONFIGS[config]
        text.append(
            f"### Config {config}, {threads} thread(s)\n\n{c.neurons} neurons, {c.steps} steps, "
            f"batch {c.batch}, {100 * c.rate:g} %"
        )
        text.append(peer_tables.peers(group))
    return "\n\n".join(text)


def _breakdown(rows: list[Row], images: Path, results: Path) -> str:
    return (
        "Milliseconds of a training step, and shares. *Gather* is the sum of the weights' rows "
        "of the spikes; *rest of the kernels* is sorting spikes, memory, and waiting for the "
        "other thread; *TensorFlow* is what is left of the step.\n\n"
        + "\n\n".join(
            tables.breakdown([row for row in rows if row["variant"] == variant])
            for variant in sorted({row["variant"] for row in rows})
        )
    )


def _roofline(rows: list[Row], images: Path, results: Path) -> str:
    text = [
        "Multiply-adds from registers, reading and adding in place (bytes of the array, each "
        "read and written) from each level of memory, and NumPy's sgemm:",
        tables.machine_limits(rows),
    ]
    if not (results / "breakdown.json").exists():
        return "\n\n".join(text)
    parts = read("breakdown", results)["rows"]
    text.append(
        "The parts of a step against these limits. Operations and bytes are counted from the "
        "spikes (`benchmarks/work_counts.py` says how); a row of weights that is read again from "
        "a cache counts again. An exact product is counted as if it were taken row by column, and "
        "the readout's part in the last hidden layer (backward 2) and in its own weights (weight "
        "gradient 3) as if step by step; Strassen's way, and one row a sample where the loss is on "
        "the mean of the steps, need fewer operations, so that they may lie above the peak."
    )
    for variant in sorted({row["variant"] for row in parts}):
        chosen = [row for row in parts if row["variant"] == variant]
        machine = [row for row in rows if row["threads"] == chosen[0]["threads"]]
        if machine:
            name = f"roofline-{variant.replace(' ', '-')}.svg"
            plots.roofline(machine[0], chosen, variant, images / name)
            text.append(f"![Roofline, {variant}](images/{name})")
        text.append(tables.rates(chosen))
    return "\n\n".join(text)


def _growth(rows: list[Row], images: Path, results: Path) -> str:
    plots.growth(rows, images / "growth.svg")
    _, along_activity = next(growth.sizes("activity", growth.AXES["activity"]))
    return "\n\n".join(
        [
            f"One size changes at a time, from {_told(growth.Size())}; with {growth.THREADS} "
            f"threads. Along activity there are {along_activity.neurons} neurons. "
            "*Dense products* are TensorFlow's matrix products of the same layers, with Adam in a "
            "training step, without any neurons: what no dense library can do without.",
            "![Growth](images/growth.svg)",
            "Fitted exponents (1 is proportional):",
            growth_tables.exponents(rows),
            "The cost is to follow the spikes while they are few, and to exceed that of the dense "
            f"products by no more than {growth_tables.DENSE_LIMIT - 1:.0%} when they are many (a "
            "gated layer multiplies by all neurons where more than two in five carry gradient):",
            growth_tables.dense_limit(rows),
            "Time and its ratio to that of the dense products, by activity:",
            growth_tables.against_dense(rows),
        ]
    )


def _told(size: growth.Size) -> str:
    return (
        f"{size.neurons} neurons, {size.steps} steps, batch {size.batch}, "
        f"{100 * size.activity:g} % activity and {size.layers} layers"
    )


def _memory(rows: list[Row], images: Path, results: Path) -> str:
    return (
        "Bytes per sample that the forward pass leaves for the backward pass, against the float32 "
        "membranes of all neurons and steps. Counted, not timed.\n\n" + tables.stored(rows)
    )


def _weight_types(rows: list[Row], images: Path, results: Path) -> str:
    return (
        "Milliseconds, and how many times as fast weights in two bytes are. Sums are taken in "
        "float32, so that only rows which come from beyond the caches arrive sooner.\n\n"
        + weight_types.told(rows)
    )


class Section(NamedTuple):
    """Of the page, from one file of results."""

    title: str
    results: str
    text: Callable[[list[Row], Path, Path], str]
    command: str = ""  # that measures it, if it is no module of the results' name


SECTIONS = (
    Section(
        "A training step beside the fastest libraries",
        "leaders",
        _peers,
        f"peers --fastest --threads {peer_goals.THREADS}",
    ),
    Section("A training step beside all libraries", "peers", _peers),
    Section("Where the time goes", "breakdown", _breakdown),
    Section("What the machine can do", "roofline", _roofline),
    Section("Growth", "growth", _growth),
    Section("What is kept for the backward pass", "memory", _memory),
    Section("Weights in bfloat16", "weight_types", _weight_types),
)


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser("python -m benchmarks.report", description=__doc__)
    parser.add_argument("directory", type=Path, nargs="?", default=ROOT / "docs")
    directory = parser.parse_args(arguments).directory
    (directory / PAGE).write_text(page(directory, directory / "images"), "utf-8")


if __name__ == "__main__":
    main()
