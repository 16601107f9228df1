"""Metrics for people: each figure with its split, its scope and its unit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ipulse.client.jobs.snapshot import JobSnapshot
from ipulse_core.events import metric_scope
from ipulse_core.numbers import plain_number

# Names of metrics that are fractions, and shown in percent.
_PERCENT = frozenset({"accuracy", "firing_rate", "gradient_set"})
_SHOWN = ("accuracy", "mae", "loss")
_SCORES = ("test_accuracy", "test_mae")


def percent(share: float) -> str:
    """Format a fraction: 97.5 %."""
    return f"{100 * share:.1f} %"


def completed(metric: Mapping[str, Any]) -> dict[str, Any]:
    """Return a metric event of any release, or a job's progress, with all fields."""
    return {"scope": metric_scope(metric), "held_out": "test", "evaluated": None, **metric}


def with_evaluation(metric: Mapping[str, Any], before: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return a metric event as a job's progress: with the latest epoch that has ended.

    before: the progress until this event.
    """
    full = completed(metric)
    evaluated = None if before is None else before["evaluated"]
    if full["scope"] == "epoch":
        evaluated = {"epoch": full["epoch"], "values": full["values"]}
    elif evaluated is not None and evaluated["epoch"] >= full["epoch"]:
        evaluated = None  # of an attempt that was lost: training resumed before it
    return {**full, "evaluated": evaluated}


def metric_rows(progress: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield the latest figures of a job's progress: the split, the figures and their scope."""
    full = completed(progress)
    evaluated = full["evaluated"]
    if evaluated is not None:
        values, epoch = evaluated["values"], evaluated["epoch"]
        for split, figures in _by_split(full, values):
            scope = "mean of epoch" if split == "training" else "after epoch"
            yield split, figures, f"{scope} {epoch:,}"
    if full["scope"] == "step":
        yield "training", _figures(full["values"], ""), f"batch {full['step']:,}"
    layers = "  ".join(_layer_figures(full["values"]))
    if layers:
        yield "layers", layers, _scope(full)


def metric_line(metric: Mapping[str, Any]) -> str:
    """Return one line about a metric event."""
    full = completed(metric)
    values = full["values"]
    parts = [f"epoch {full['epoch']:,}/{full['epochs']:,}"]
    if full["scope"] == "epoch":
        parts += [f"{split} {figures}" for split, figures in _by_split(full, values)]
    else:
        parts.append(f"training batch {full['step']:,}/{full['steps']:,}: {_figures(values, '')}")
    return "  ".join([*parts, *_layer_figures(values)])


def numbered(values: Mapping[str, float], name: str) -> list[float]:
    """Return the values of name/1, name/2, ... in the order of the layers."""
    by_layer = {}
    for key, value in values.items():
        head, _, number = key.partition("/")
        if head == name and number.isdecimal():
            by_layer[int(number)] = value
    return [by_layer[number] for number in sorted(by_layer)]


def figure(name: str, value: float) -> str:
    """Format the value of a metric with its unit."""
    if name.removeprefix("test_").removeprefix("validation_").partition("/")[0] in _PERCENT:
        return percent(value)
    return f"{value:.4f}" if value == 0 or 0.001 <= abs(value) < 1000 else plain_number(value)


def accuracy_of(job: JobSnapshot, noun: str = "accuracy ") -> str:
    """Return a job's accuracy with its split and epoch: of its result, else the latest one.

    For a regression it is the mean absolute error.
    """
    progress = None if job.progress is None else completed(job.progress)
    held_out = "test" if progress is None else progress["held_out"]
    summary, evaluated = job.summary or {}, (progress or {}).get("evaluated")
    if any(name in summary for name in _SCORES):
        values, epoch = summary, summary.get("kept_epoch")
    else:
        values, epoch = (evaluated["values"], evaluated["epoch"]) if evaluated else ({}, None)
    name = next((name for name in _SCORES if name in values), None)
    if name is None:
        return ""
    scope = "" if epoch is None else f" (epoch {epoch:,.0f})"
    words = noun if name == "test_accuracy" else "mean absolute error "
    return f"{held_out} {words}{figure(name, values[name])}{scope}"


def _scope(metric: Mapping[str, Any]) -> str:
    if metric["scope"] == "epoch":
        return f"epoch {metric['epoch']:,}"
    return f"batch {metric['step']:,}"


def _by_split(full: Mapping[str, Any], values: Mapping[str, float]) -> Iterator[tuple[str, str]]:
    """Yield the splits that an epoch has figures of; those of a script are its own."""
    splits = (full["held_out"], "test_"), ("validation", "validation_"), ("training", "")
    for split, prefix in splits:
        figures = _figures(values, prefix)
        if figures:
            yield split, figures


def _figures(values: Mapping[str, float], prefix: str) -> str:
    shown = [(name, prefix + name) for name in _SHOWN if prefix + name in values]
    return "  ".join(f"{name} {figure(key, values[key])}" for name, key in shown)


def _layer_figures(values: Mapping[str, float]) -> Iterator[str]:
    rates = numbered(values, "firing_rate")
    if rates:
        yield "firing rate " + " ".join(f"{100 * rate:.1f}" for rate in rates) + " %"
    dropped = sum(numbered(values, "overflow"))
    if dropped:
        yield f"{dropped:,.0f} dropped spikes"
