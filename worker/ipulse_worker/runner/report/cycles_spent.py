"""Where the cycles of a Poplar program went: by kind, by layer, by step, and over a run's time."""

from __future__ import annotations

from html import escape
from typing import Dict, List

from ipulse_worker.runner.profile.tile_profile import KINDS, Cycles, Layer, Run, Step, TileProfile
from ipulse_worker.runner.report import plots, step_plots
from ipulse_worker.runner.report.quantities import count, duration, listed, percent
from ipulse_worker.runner.report.step_plots import COLOURS
from ipulse_worker.runner.report.tables import swatch, table

MOST_STEPS = 12  # of the table


def cycles_spent(profile: TileProfile, of: str) -> str:
    """Two figures. of: "emulated, " or nothing, for every caption."""
    total = profile.total
    bar = plots.stacked_bar(
        [(kind, f"f{COLOURS[kind]}", getattr(total, kind)) for kind in KINDS],
        "Share of compute, exchange, sync and host in all cycles",
    )
    runs = "all runs" if profile.is_emulated else "the recorded runs"
    what = f"{of}{count(total.total)} cycles of {runs}, {_time(profile, total)} at the clock"
    spent = (
        f'<figure class="wide"><figcaption>Where the cycles went <span>{what}</span></figcaption>'
        f"<p>{escape(_words(profile))}</p>{bar}"
        f'<div class="scroll">{_layer_table(profile)}{_step_table(profile)}</div></figure>'
    )
    return spent + "".join(_run_figure(profile, run, of) for run in profile.runs)


def _words(profile: TileProfile) -> str:
    total, steps = profile.total, _merged(profile.steps)
    ordered = sorted(KINDS, key=lambda kind: -getattr(total, kind))
    shares = [f"{kind} {percent(getattr(total, kind) / total.total)}" for kind in ordered]
    words = f"Of the cycles, {listed(shares)}. The dearest step is {steps[0].name} with "
    words += f"{percent(steps[0].cycles.total / total.total)}"
    layers = sorted(profile.layers, key=lambda layer: -layer.total)
    words += (
        f"; of the layers, {layers[0].name} takes most, {percent(layers[0].total / total.total)}."
    )
    balance = profile.balance
    if balance is not None:
        words += (
            f" While tiles compute, the mean tile works {percent(balance)} of the time that the "
            "busiest one does and waits for it the rest."
        )
    by_tile = profile.compute_by_tile
    if by_tile.any():
        words += (
            f" Added up over all steps, the mean tile has {percent(by_tile.mean() / by_tile.max())}"
            " of the busiest one's cycles."
        )
    return words


def _layer_table(profile: TileProfile) -> str:
    total = profile.total
    rows = [_layer_row(profile, layer, total.total) for layer in profile.layers]
    heads = ["layer", "forward", "backward", *KINDS, "time", "share"]
    return table(heads, rows)


def _layer_row(profile: TileProfile, layer: Layer, total: float) -> List[str]:
    both = layer.forward.plus(layer.backward)
    return [
        escape(layer.name),
        count(layer.forward.total),
        count(layer.backward.total),
        *(count(getattr(both, kind)) for kind in KINDS),
        _time(profile, both),
        percent(layer.total / total),
    ]


def _step_table(profile: TileProfile) -> str:
    total, steps = profile.total, _merged(profile.steps)
    rows = [_step_row(profile, step, total.total) for step in steps[:MOST_STEPS]]
    rest = steps[MOST_STEPS:]
    if rest:
        cycles = Cycles()
        for step in rest:
            cycles = cycles.plus(step.cycles)
        done = sum(step.executions for step in rest)
        rows.append(_step_row(profile, Step(f"{len(rest):,} more", done, cycles), total.total))
    heads = ["step", "executions", "cycles each", *KINDS, "time", "share"]
    return table(heads, rows)


def _step_row(profile: TileProfile, step: Step, total: float) -> List[str]:
    return [
        escape(step.name),
        f"{step.executions:,}",
        count(step.cycles.total / step.executions) if step.executions else "",
        *(count(getattr(step.cycles, kind)) for kind in KINDS),
        _time(profile, step.cycles),
        percent(step.cycles.total / total),
    ]


def _run_figure(profile: TileProfile, run: Run, of: str) -> str:
    whole = float(run.cycles.sum())
    legend = " ".join(f"{swatch(COLOURS[kind])}{kind} &nbsp;" for kind in KINDS)
    took = f"{len(run.programs):,} steps, {duration(profile.seconds(whole))}"
    if run.is_truncated:
        took += ", only the first steps were recorded"
    drawn = step_plots.strip(run.cycles, f"What the cycles of {run.name} were spent on over time")
    found = profile.one_pass(run)
    zoom = ""
    if found:
        begin, end = found
        steps = [(profile.name_of(run.programs[n]), run.cycles[n]) for n in range(begin, end)]
        cycles = float(run.cycles[begin:end].sum())
        words = f"One pass of its loop: {end - begin:,} steps, {count(cycles)} cycles, "
        words += f"{duration(profile.seconds(cycles))}. Within a step the order is that of the "
        words += "drawing: sync, exchange, compute."
        zoom = f"<p>{escape(words)}</p>{step_plots.one_pass(steps, 'One pass of the loop')}"
    return (
        f'<figure class="wide below"><figcaption>Run {escape(run.name)} <span>{of}{took}; the '
        f'first one</span></figcaption><p class="key">{legend}</p>{drawn}{zoom}</figure>'
    )


def _merged(steps: List[Step]) -> List[Step]:
    """Steps of one name as one, the dearest first."""
    found: Dict[str, Step] = {}
    for step in steps:
        before = found.get(step.name, Step(step.name, 0, Cycles()))
        cycles = before.cycles.plus(step.cycles)
        found[step.name] = Step(step.name, before.executions + step.executions, cycles)
    return sorted(found.values(), key=lambda step: -step.cycles.total)


def _time(profile: TileProfile, cycles: Cycles) -> str:
    return duration(profile.seconds(cycles.total))
