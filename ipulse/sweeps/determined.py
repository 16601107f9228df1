"""Translates hyperparameter searches of Determined."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .translation import MAX_GRID, SweepTranslation, number_of

_METHODS = {"grid": "grid", "random": "random", "adaptive_asha": "random", "single": "random"}
_SEARCHER = (
    *("name", "metric", "smaller_is_better", "max_trials", "max_concurrent_trials"),
    *("divisor", "source_trial_id", "max_length", "max_time", "time_metric", "mode"),
)
# Fields of an experiment that say how its own code runs.
_KEYS = (
    *("name", "hyperparameters", "searcher", "entrypoint", "environment", "resources"),
    *("description", "workspace", "project", "max_restarts", "bind_mounts"),
)


def translate_determined(given: Mapping[str, Any], to: SweepTranslation) -> None:
    """Add what an experiment of Determined says to a translation."""
    searcher = given["searcher"] if isinstance(given["searcher"], dict) else {}
    kind = str(searcher.get("name"))
    method = _METHODS.get(kind, "random")
    if kind not in _METHODS:
        to.remarks.append(f"searcher {kind}: not known: random is used")
    to.document["method"] = method
    hyperparameters = given["hyperparameters"]
    flat = _flat(hyperparameters if isinstance(hyperparameters, dict) else {}, "")
    for name, parameter in flat:
        _translate_parameter(name, parameter, method, to)
    smaller = searcher.get("smaller_is_better", True)
    to.compare_by(searcher.get("metric"), "minimize" if smaller else "maximize")
    if kind == "adaptive_asha":
        factor = number_of(searcher.get("divisor", 4)) or 4
        to.document["stopping"] = {"kind": "asha", "factor": max(2, round(factor))}
        to.remarks.append("adaptive_asha: asha with one bracket is used, and counts epochs")
    if method != "grid":
        to.document["trials"] = int(number_of(searcher.get("max_trials")) or 1)
    at_once = number_of(searcher.get("max_concurrent_trials"))
    if at_once:
        most = to.document.get("trials", 1000)
        to.document["parallel"] = int(min(at_once, most, 1000))
    if "max_length" in searcher or "max_time" in searcher:
        to.remarks.append("max_length and max_time: set training.epochs of the spec instead")
    to.leave_out(searcher, *_SEARCHER)
    to.leave_out(given, *_KEYS)


def _flat(parameters: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name, parameter in parameters.items():
        if not isinstance(parameter, dict):
            yield f"{prefix}{name}", {"type": "const", "val": parameter}
        elif "type" in parameter:
            yield f"{prefix}{name}", parameter
        else:
            yield from _flat(parameter, f"{prefix}{name}.")


def _translate_parameter(
    name: str, parameter: Mapping[str, Any], method: str, to: SweepTranslation
) -> None:
    kind, values = parameter["type"], parameter.get("vals")
    if kind == "const":
        to.fix(name, parameter.get("val"))
        return
    if kind == "categorical" and isinstance(values, list):
        to.vary(name, {"values": values})
        return
    low, high = number_of(parameter.get("minval")), number_of(parameter.get("maxval"))
    if low is None or high is None or kind not in ("int", "double", "log"):
        to.remarks.append(f"{name}: this distribution has no counterpart: left out")
        return
    base = number_of(parameter.get("base", 10)) or 10
    if kind == "log" and max(abs(low), abs(high)) > 300:
        to.remarks.append(f"{name}: its exponents are too large: left out")
    elif method == "grid":
        _translate_axis(name, parameter, (low, high), base, to)
    elif kind == "int":
        to.vary(name, {"int_uniform": [int(low), int(high)]})
    elif kind == "double":
        to.vary(name, {"uniform": [low, high]})
    else:
        to.vary(name, {"log_uniform": [base**low, base**high]})


def _translate_axis(
    name: str,
    parameter: Mapping[str, Any],
    bounds: tuple[float, float],
    base: float,
    to: SweepTranslation,
) -> None:
    """Add a parameter of a grid: `count` values at equal distances, both ends included."""
    (low, high), kind = bounds, parameter["type"]
    count = int(number_of(parameter.get("count")) or 0)
    if not 1 <= count <= MAX_GRID:
        to.remarks.append(f"{name}: a grid needs `count`: left out")
        return
    points = [low + (high - low) * index / max(1, count - 1) for index in range(count)]
    if kind == "int":
        values: list[float] = [*dict.fromkeys(round(point) for point in points)]
    else:
        values = [base**point for point in points] if kind == "log" else points
    to.vary(name, {"values": values})
