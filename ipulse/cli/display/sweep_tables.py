"""Sweeps and trials as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ipulse.cli.display.figures import figure
from ipulse.cli.display.progress import duration
from ipulse.cli.tables import least_varied_first, show_table
from ipulse.cli.terminal import second_text, show_facts
from ipulse.client import SweepStatus, SweepTrial
from ipulse.times import time_of
from ipulse_core import strict_json
from ipulse_core.ids import short_id
from ipulse_core.numbers import plain_number

WASTED = ("failed", "lost")  # outcomes whose device time is shown apart


def show_sweep(sweep: SweepStatus) -> None:
    """Write the facts of a sweep."""
    show_facts(_facts(sweep))


def show_trials(sweep: SweepStatus, trials: Sequence[SweepTrial], wide: bool = False) -> None:
    """Write a table of trials; after the mean comes half the width of its 95 % interval."""
    names = [_name_of(pointer) for pointer in sweep.parameters]
    headers = ["TRIAL", *names, "STATE", sweep.metric, "+/-", "N", "JOBS"]
    rows = [_row(sweep, trial) for trial in trials]
    settings = least_varied_first(rows, range(1, len(names) + 1))
    state, spread, count, jobs = (headers.index(name) for name in ("STATE", "+/-", "N", "JOBS"))
    spare = [count, jobs, *settings, spread, state]
    how = f"`ipulse sweep show {short_id(sweep.id)} --wide` shows all"
    show_table(headers, rows, wide, spare=spare, how_to_see=how)


def best_first(sweep: SweepStatus, trials: Sequence[SweepTrial]) -> list[SweepTrial]:
    """Return the trials that have succeeded, the best first, then the others in the same order.

    A pruned trial has the value of fewer epochs, so that it is never the best.
    """
    sign = -1 if sweep.goal == "maximize" else 1

    def order(trial: SweepTrial) -> tuple[bool, bool, float]:
        return trial.state != "succeeded", trial.value is None, sign * (trial.value or 0)

    return sorted(trials, key=order)


def setting_text(parameters: dict[str, object]) -> str:
    """Return the parameters of a trial: learning_rate = 0.01, layers[0].neurons = 64."""
    parts = (f"{_name_of(name)} = {_value(value)}" for name, value in parameters.items())
    return ", ".join(parts) or "the settings of the spec"


def _name_of(pointer_text: str) -> str:
    """Return the last names of a pointer: learning_rate, layers[0].neurons."""
    keys = strict_json.pointer_keys(pointer_text)
    for start in range(len(keys) - 1, -1, -1):
        if not keys[start].isdigit():
            break
    begin = start - 2 if start >= 2 and keys[start - 1].isdigit() else start
    return strict_json.dotted(keys[begin:])


def _row(sweep: SweepStatus, trial: SweepTrial) -> list[str]:
    value = "" if trial.value is None else figure(sweep.metric, trial.value)
    spread = "" if trial.interval is None else figure(sweep.metric, trial.interval)
    jobs = " ".join(
        short_id(job["id"]) + (" (deleted)" if job.get("deleted") else "")
        for job in trial.json["jobs"]
    )
    settings = [_value(trial.parameters.get(pointer)) for pointer in sweep.parameters]
    return [str(trial.number), *settings, trial.shown_state, value, spread, str(trial.n), jobs]


def _value(value: object) -> str:
    if isinstance(value, float):
        return plain_number(value)
    return value if isinstance(value, str) else strict_json.dumps(value)


def _facts(sweep: SweepStatus) -> Iterator[tuple[str, str]]:
    reason = f" ({sweep.reason})" if sweep.reason else ""
    yield "sweep", sweep.name
    yield "id", sweep.id
    yield "state", f"{sweep.state}{reason}"
    yield "", sweep.message
    words = {"running": "queued or running"}  # it says only that they have not ended
    counts = ", ".join(f"{count:,} {words.get(s, s)}" for s, count in sweep.by_state.items())
    yield "trials", f"{sweep.begun:,} of {sweep.trials:,} begun" + (counts and f": {counts}")
    yield "method", f"{sweep.method}, {sweep.parallel} at the same time"
    yield "created", second_text(time_of(sweep.json["created_at"]))
    seconds = sweep.json.get("device_seconds")
    cost = sweep.json.get("cost", {})
    wasted = ", ".join(f"{name} {duration(cost[name])}" for name in WASTED if cost.get(name))
    yield "device time", duration(seconds) + (wasted and f" ({wasted})") if seconds else ""
    if sweep.best:
        value = figure(sweep.metric, sweep.best["value"])
        yield "best", f"{sweep.metric} {value} in trial {sweep.best['number']}"
        yield "", setting_text(sweep.best["parameters"])
