"""Translates sweep configurations of W&B."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from .translation import MAX_GRID, SweepTranslation, number_of

# Keys such as `program` are not needed: the service runs the spec.
_KEYS = ("method", "metric", "parameters", "early_terminate", "run_cap", "name", "program")
_IGNORED = ("project", "entity", "command", "description")
_METHODS = {"grid": "grid", "random": "random", "bayes": "tpe"}
_DISTRIBUTION_KEYS = frozenset(
    ("value", "values", "distribution", "min", "max", "mu", "sigma", "q", "probabilities")
)
_TRIALS = 20  # without run_cap, where W&B has no limit


def translate_wandb(given: Mapping[str, Any], to: SweepTranslation) -> None:
    """Add what a sweep of W&B says to a translation."""
    method = _METHODS.get(str(given.get("method")), "random")
    if str(given.get("method")) not in _METHODS:
        to.remarks.append(f"method {given.get('method')}: not known: random is used")
    to.document["method"] = method
    if given.get("method") == "bayes":
        to.remarks.append("method bayes: tpe is used, another method that learns from trials")
    parameters = given["parameters"]
    for name, parameter in _flat(parameters if isinstance(parameters, dict) else {}, ""):
        _translate_parameter(name, parameter, method, to)
    _translate_metric(given.get("metric"), to)
    _translate_stopping(given.get("early_terminate"), to)
    _translate_count(given.get("run_cap"), method, to)
    to.leave_out(given, *_KEYS, *_IGNORED)


def _flat(parameters: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name, parameter in parameters.items():
        if not isinstance(parameter, dict):
            yield f"{prefix}{name}", {"value": parameter}
        elif "parameters" in parameter and not _DISTRIBUTION_KEYS & parameter.keys():
            yield from _flat(parameter["parameters"] or {}, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", parameter


def _translate_parameter(
    name: str, parameter: Mapping[str, Any], method: str, to: SweepTranslation
) -> None:
    if "value" in parameter:
        to.fix(name, parameter["value"])
        return
    values = parameter.get("values")
    if isinstance(values, list):
        if "probabilities" in parameter:
            to.remarks.append(f"{name}: probabilities have no counterpart: all are equal")
        to.vary(name, {"values": values})
        return
    drawn = _drawn(name, parameter, to)
    if drawn is None:
        to.remarks.append(f"{name}: this distribution has no counterpart: left out")
    elif method == "grid":
        low, high = drawn.get("int_uniform", (0, -1))
        step = drawn.get("step", 1)
        if 0 <= (high - low) // step < MAX_GRID:
            to.vary(name, {"values": [*range(low, high + 1, step)]})
        else:
            to.remarks.append(f"{name}: a grid needs values: left out")
    else:
        to.vary(name, drawn)


def _drawn(name: str, parameter: Mapping[str, Any], to: SweepTranslation) -> dict[str, Any] | None:
    low, high = number_of(parameter.get("min")), number_of(parameter.get("max"))
    kind = parameter.get("distribution")
    if kind is None:
        whole = isinstance(parameter.get("min"), int) and isinstance(parameter.get("max"), int)
        kind = "int_uniform" if whole else "uniform"
    kind, step = str(kind), number_of(parameter.get("q"))
    if kind.startswith("q_"):
        kind = kind.removeprefix("q_")
        if kind == "uniform" and step is not None and step >= 1 and float(step).is_integer():
            kind = "int_uniform"
        else:
            to.remarks.append(f"{name}: values are not rounded to multiples of q")
            step = None
    if kind in ("normal",):
        mean, deviation = number_of(parameter.get("mu", 0)), number_of(parameter.get("sigma", 1))
        return None if mean is None or deviation is None else {"normal": [mean, deviation]}
    if low is None or high is None:
        return None
    if kind == "log_uniform" and max(low, high) < math.log(1e300):  # of exponents of e
        return {"log_uniform": [math.exp(low), math.exp(high)]}
    if kind == "int_uniform":
        return {"int_uniform": [int(low), int(high)], **({"step": int(step)} if step else {})}
    if kind in ("uniform", "log_uniform_values"):
        return {kind.removesuffix("_values"): [low, high]}
    return None


def _translate_metric(metric: Any, to: SweepTranslation) -> None:
    if not isinstance(metric, dict):
        return
    goal = metric.get("goal", "minimize")
    to.compare_by(metric.get("name"), goal if goal in ("minimize", "maximize") else None)
    target = number_of(metric.get("target"))
    if target is not None:
        to.document["limits"] = {"target": target}


def _translate_stopping(stopping: Any, to: SweepTranslation) -> None:
    if not isinstance(stopping, dict):
        return
    eta, begin = number_of(stopping.get("eta", 3)), number_of(stopping.get("min_iter"))
    if begin is None:  # then max_iter and the number of brackets s give the first one
        longest, brackets = number_of(stopping.get("max_iter")), number_of(stopping.get("s", 1))
        if longest is not None and brackets is not None and eta:
            begin = longest / eta ** min(brackets, 100)
    if stopping.get("type") != "hyperband" or not eta or begin is None:
        to.remarks.append("early_terminate: has no counterpart: left out")
        return
    factor, epochs = max(2, round(eta)), max(1, round(begin))
    to.document["stopping"] = {"kind": "asha", "min_epochs": epochs, "factor": factor}
    to.remarks.append("early_terminate hyperband: asha is used, and counts epochs")


def _translate_count(cap: Any, method: str, to: SweepTranslation) -> None:
    count = number_of(cap)
    if count is not None and count >= 1:
        to.document["trials"] = int(count)
    elif method != "grid":
        to.document["trials"] = _TRIALS
        to.remarks.append(f"run_cap is not given: the sweep has {_TRIALS} trials")
