"""Where the time went, by phase and by part of a training step."""

from __future__ import annotations

from html import escape
from typing import Any, Dict, List, Optional

from ipulse_worker.runner.report import plots
from ipulse_worker.runner.report.quantities import duration, percent
from ipulse_worker.runner.report.tables import swatch, table
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


def time_spent(results: Results) -> Dict[str, str]:
    execution = results.profile["execution"]
    train = execution["runs"][0]
    steps = train["steps"]
    phases = execution["phases"]
    total = sum(phase["seconds"] for phase in phases)
    phase_rows: List[List[str]] = []
    for phase in phases:
        mark = swatch(PHASE_COLOURS[phase["name"]])
        phase_rows.append([mark + phase["name"], escape(phase["what"]), *_share(phase, total)])
        if phase["name"] == "run":
            for part in train["parts"]:
                name = f'<span class="indent">{escape(part["name"])}</span>'
                phase_rows.append([name, escape(part["what"]), *_share(part, total)])
    mean = steps["seconds"]["mean"]
    step_rows = [
        [
            swatch(STEP_COLOURS[part["name"]]) + part["name"],
            escape(part["what"]),
            *(_optional_duration(part["seconds"].get(key)) for key in ("mean", "p50", "p95")),
            duration(part["seconds"]["total"]) if part["name"] != "residual" else "",
            percent(part["share"]) if part["share"] is not None else "",
        ]
        for part in steps["parts"]
        if part["name"] != "residual" or abs(part["seconds"]["total"]) >= 1e-6
    ]
    whole = steps["seconds"]
    spread = [_optional_duration(whole[key]) for key in ("mean", "p50", "p95")]
    step_rows.append(["step", "", *spread, duration(whole["total"]), percent(1.0)])
    done = (
        f"{steps['count']:,} training steps of up to {results.spec.training.batch_size:,} samples, "
        "each one measured."
        if steps["count"]
        else "There was no training step in this attempt: an earlier one had done them all."
    )
    words = (
        f"{done} The parts of a step add up to it: the kernels report their own time, the rest is "
        "what the runner's clock saw around them."
    )
    if results.profile["compilation"]["target"].get("emulated"):
        words += (
            " The device is emulated: its seconds are the emulator's on this machine, no IPU's."
        )
    return {
        "time_words": escape(words),
        "attempt_seconds": duration(total),
        "phase_bar": plots.stacked_bar(
            [(p["name"], f"f{PHASE_COLOURS[p['name']]}", p["seconds"]) for p in phases],
            "Share of each phase in the attempt",
        ),
        "phase_table": table(["phase", "what", "time", "share"], phase_rows, words=(1,)),
        "step_seconds": f"{duration(mean)} on average" if mean else "none in this attempt",
        "step_bar": plots.stacked_bar(
            [
                (p["name"], f"f{STEP_COLOURS[p['name']]}", max(0.0, p["seconds"]["total"]))
                for p in steps["parts"]
            ],
            "Share of each part in a training step",
        ),
        "step_table": table(
            ["part", "what", "mean", "p50", "p95", "total", "share"],
            step_rows,
            words=(1,),
            sum_row=True,
        ),
    }


def _share(part: Dict[str, Any], total: float) -> List[str]:
    return [duration(part["seconds"]), percent(part["seconds"] / total)]


def _optional_duration(seconds: Optional[float]) -> str:
    return "" if seconds is None else duration(seconds)
