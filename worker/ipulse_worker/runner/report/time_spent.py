"""The time of an attempt by phase, and of its training steps by part."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Union

import numpy as np

from ipulse_worker.runner.report.composition import weight_count
from ipulse_worker.runner.report.plots import charts
from ipulse_worker.runner.report.quantities import duration, percent
from ipulse_worker.runner.report.tables import Cell, ReportTable
from ipulse_worker.runner.results.results import Results

PHASE_COLOURS = {"prepare": 5, "compile": 2, "acquire": 4, "run": 1, "report": 0}
STEP_COLOURS = {
    "forward": 1,
    "backward": 3,
    "framework": 4,
    "optimizer": 2,
    "data": 5,
    "metrics": 0,
    "residual": 6,
}
SHOWN_RESIDUAL = 1e-6  # seconds


def time_spent(results: Results) -> Dict[str, Any]:
    """Return the values of sections/time.html."""
    execution = results.profile["execution"]
    train = execution["runs"][0]
    steps, phases = train["steps"], execution["phases"]
    return {
        "steps": steps["count"],
        "batch_size": results.spec.training.batch_size,
        "is_emulated": results.profile["compilation"]["target"].get("emulated", False),
        "seconds": sum(phase["seconds"] for phase in phases),
        "phase_bar": charts.stacked_bar(
            [(p["name"], f"f{PHASE_COLOURS[p['name']]}", p["seconds"]) for p in phases],
            "Share of each phase in the attempt",
        ),
        "phase_table": _phase_table(phases, train["parts"]),
        "step_seconds": steps["seconds"]["mean"],
        "step_bar": charts.stacked_bar(
            [
                (p["name"], f"f{STEP_COLOURS[p['name']]}", max(0.0, p["seconds"]["total"]))
                for p in steps["parts"]
            ],
            "Share of each part in a training step",
        ),
        "step_table": _step_table(steps),
        "layers": _layers(train, steps, results),
    }


def _phase_table(phases: List[Dict[str, Any]], parts: List[Dict[str, Any]]) -> ReportTable:
    """Return a table of the phases, with the parts of a phase below it."""
    total = sum(phase["seconds"] for phase in phases)
    rows: List[List[Union[str, Cell]]] = []
    for phase in phases:
        name = Cell(phase["name"], colour=PHASE_COLOURS[phase["name"]])
        rows.append([name, phase["what"], *_share(phase, total)])
        for part in parts if phase["name"] == "run" else phase.get("parts", []):
            cell = Cell(part["name"], is_indented=True)
            rows.append([cell, part["what"], *_share(part, total)])
    rows.append(["total", "", duration(total), percent(1.0)])
    heads = ["phase", "content", "time", "share of the attempt"]
    return ReportTable(heads, rows, text_columns=(1,), has_sum=True)


def _step_table(steps: Dict[str, Any]) -> ReportTable:
    rows = [
        [
            Cell(part["name"], colour=STEP_COLOURS[part["name"]]),
            part["what"],
            *(_optional_duration(part["seconds"].get(key)) for key in ("mean", "p50", "p95")),
            duration(part["seconds"]["total"]) if part["name"] != "residual" else "",
            percent(part["share"]) if part["share"] is not None else "",
        ]
        for part in steps["parts"]
        if part["name"] != "residual" or abs(part["seconds"]["total"]) >= SHOWN_RESIDUAL
    ]
    whole = steps["seconds"]
    spread = [_optional_duration(whole[key]) for key in ("mean", "p50", "p95")]
    rows.append(["step", "", *spread, duration(whole["total"]), percent(1.0)])
    heads = ["part", "content", "mean", "median", "95th percentile", "total", "share of a step"]
    return ReportTable(heads, rows, text_columns=(1,), has_sum=True)


def _layers(
    train: Dict[str, Any], steps: Dict[str, Any], results: Results
) -> Optional[Dict[str, Any]]:
    """Return the bar and the table of the layers' time; None where it is not known."""
    times = train["layers"]
    if times is None:
        return None
    step = steps["seconds"]["mean"]
    means = {part["name"]: part["seconds"].get("mean") for part in steps["parts"]}
    weights = [weight_count(results, at) for at in range(len(times["layers"]))]
    rows: List[List[Union[str, Cell]]] = []
    bar = []
    totals = np.zeros(3)
    for at, layer in enumerate(times["layers"]):
        name = layer["name"]
        update = means["optimizer"] * weights[at] / sum(weights)
        parts = np.array([layer["forward"], layer["backward"], update])
        totals += parts
        colour = (at + 1) % 7
        bar.append((name, f"f{colour}", float(parts.sum())))
        rows.append([Cell(name, colour=colour), *_layer_cells(parts, step)])
    rest = step - float(totals.sum())
    bar.append(("around", "f0", rest))
    rows.append([Cell("around the layers", colour=0), "", "", "", *_share_of(rest, step)])
    rows.append(["step", *(duration(part) for part in totals), *_share_of(step, step)])
    heads = ["layer", "forward", "backward", "update", "time", "share of a step"]
    return {
        "bar": charts.stacked_bar(bar, "Share of each layer in a training step"),
        "table": ReportTable(heads, rows, has_sum=True),
    }


def _layer_cells(parts: np.ndarray, step: float) -> List[str]:
    return [*(duration(part) for part in parts), *_share_of(float(parts.sum()), step)]


def _share_of(seconds: float, step: float) -> List[str]:
    return [duration(max(0.0, seconds)), percent(seconds / step)]


def _share(part: Dict[str, Any], total: float) -> List[str]:
    return [duration(part["seconds"]), percent(part["seconds"] / total)]


def _optional_duration(seconds: Optional[float]) -> str:
    return "" if seconds is None else duration(seconds)
