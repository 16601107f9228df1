"""The time of an attempt by phase, and of its training steps by part."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Union

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
    heads = ["phase", "content", "time", "share"]
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
    heads = ["part", "content", "mean", "median", "95th percentile", "total", "share"]
    return ReportTable(heads, rows, text_columns=(1,), has_sum=True)


def _share(part: Dict[str, Any], total: float) -> List[str]:
    return [duration(part["seconds"]), percent(part["seconds"] / total)]


def _optional_duration(seconds: Optional[float]) -> str:
    return "" if seconds is None else duration(seconds)
