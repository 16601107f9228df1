"""The cycles of a Poplar program by kind, layer and step, and over the time of a run."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence

from ipulse_core.pva.band import band_of
from ipulse_worker.runner.profile.tile_profile import TileProfile
from ipulse_worker.runner.profile.tile_records import KINDS, Cycles, Layer, ProfiledRun, Step
from ipulse_worker.runner.report.plots import charts, step_plots
from ipulse_worker.runner.report.plots.step_plots import COLOURS
from ipulse_worker.runner.report.quantities import count, duration, percent, size
from ipulse_worker.runner.report.tables import ReportTable

MOST_STEPS = 12  # of the table


def cycles_spent(profile: TileProfile, names: Sequence[str]) -> Dict[str, Any]:
    """Return the values of sections/cycles.html; names: those of the hidden layers."""
    shown = {f"layer {number}": name for number, name in enumerate(names, start=1)}
    total, by_tile = profile.total, profile.compute_by_tile
    step = _by_name(profile.steps)[0]
    layer = max(profile.layers, key=lambda layer: layer.total)
    ordered = sorted(KINDS, key=lambda kind: -getattr(total, kind))
    return {
        "total": total.total,
        "seconds": profile.seconds(total.total),
        "band": band_of(total.total).text,
        "kinds": [(kind, COLOURS[kind]) for kind in KINDS],
        "shares": [f"{kind} {percent(getattr(total, kind) / total.total)}" for kind in ordered],
        "top_step": {
            "name": step.name,
            "share": step.cycles.total / total.total,
        },
        "top_layer": {
            "name": shown.get(layer.name, layer.name),
            "share": layer.total / total.total,
        },
        "balance": profile.balance,
        "mean_of_busiest": by_tile.mean() / by_tile.max() if by_tile.any() else None,
        "bar": charts.stacked_bar(
            [(kind, f"f{COLOURS[kind]}", getattr(total, kind)) for kind in KINDS],
            "Share of compute, exchange, sync and host in all cycles",
        ),
        "layer_table": _layer_table(profile, shown),
        "step_table": _step_table(profile),
        "host_table": _host_table(profile),
        "runs": [_run(profile, run) for run in profile.runs],
    }


def _layer_table(profile: TileProfile, shown: Mapping[str, str]) -> ReportTable:
    total = profile.total.total
    rows = [
        [shown.get(layer.name, layer.name), *_layer_row(profile, layer, total)]
        for layer in profile.layers
    ]
    return ReportTable(["layer", "forward", "backward", *KINDS, "time", "share"], rows)


def _layer_row(profile: TileProfile, layer: Layer, total: float) -> List[str]:
    both = layer.forward.plus(layer.backward)
    return [
        count(layer.forward.total),
        count(layer.backward.total),
        *(count(getattr(both, kind)) for kind in KINDS),
        _time(profile, both),
        percent(layer.total / total),
    ]


def _step_table(profile: TileProfile) -> ReportTable:
    total, steps = profile.total, _by_name(profile.steps)
    rows = [_step_row(profile, step, total.total) for step in steps[:MOST_STEPS]]
    rest = steps[MOST_STEPS:]
    if rest:
        cycles = Cycles()
        for step in rest:
            cycles = cycles.plus(step.cycles)
        executions = sum(step.executions for step in rest)
        others = Step(f"{len(rest):,} more", executions, cycles)
        rows.append(_step_row(profile, others, total.total))
    return ReportTable(["step", "executions", "cycles each", *KINDS, "time", "share"], rows)


def _step_row(profile: TileProfile, step: Step, total: float) -> List[str]:
    return [
        step.name,
        f"{step.executions:,}",
        count(step.cycles.total / step.executions) if step.executions else "",
        *(count(getattr(step.cycles, kind)) for kind in KINDS),
        _time(profile, step.cycles),
        percent(step.cycles.total / total),
    ]


def _host_table(profile: TileProfile) -> Optional[ReportTable]:
    """Return the copies between host and device by direction; None where none is known."""
    total = profile.total.total
    rows = [
        [
            "to the host" if copies.is_to_host else "to the device",
            f"{copies.executions:,}",
            size(copies.total_bytes),
            count(copies.host_cycles),
            count(copies.sync_cycles),
            duration(profile.seconds(copies.cycles)),
            percent(copies.cycles / total),
        ]
        for copies in profile.host_copies
    ]
    heads = ["copies", "number", "bytes", "host", "sync", "time", "share"]
    return ReportTable(heads, rows) if rows else None


def _run(profile: TileProfile, run: ProfiledRun) -> Dict[str, Any]:
    iteration = profile.one_iteration(run)
    return {
        "name": run.name,
        "steps": len(run.programs),
        "seconds": profile.seconds(float(run.cycles.sum())),
        "is_truncated": run.is_truncated,
        "strip": step_plots.strip(run.cycles, f"The kinds of cycles of {run.name} over time"),
        "iteration": None if iteration is None else _iteration(profile, run, *iteration),
    }


def _iteration(profile: TileProfile, run: ProfiledRun, begin: int, end: int) -> Dict[str, Any]:
    steps = [(profile.name_of(run.programs[n]), run.cycles[n]) for n in range(begin, end)]
    cycles = float(run.cycles[begin:end].sum())
    return {
        "steps": end - begin,
        "cycles": cycles,
        "seconds": profile.seconds(cycles),
        "plot": step_plots.one_iteration(steps, "One iteration of the loop"),
    }


def _by_name(steps: List[Step]) -> List[Step]:
    """Merge steps of one name; the most expensive comes first."""
    merged: Dict[str, Step] = {}
    for step in steps:
        before = merged.get(step.name, Step(step.name, 0, Cycles()))
        cycles = before.cycles.plus(step.cycles)
        merged[step.name] = Step(step.name, before.executions + step.executions, cycles)
    return sorted(merged.values(), key=lambda step: -step.cycles.total)


def _time(profile: TileProfile, cycles: Cycles) -> str:
    return duration(profile.seconds(cycles.total))
