"""The rules between data, time steps and loss: spikes within the steps, targets of a regression."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ipulse_core.equations.loss import STEP_TARGET, TARGET, names_in
from ipulse_core.errors import Problem
from ipulse_core.spec.derived_values import REGRESSION_LOSSES, is_regression, loss_name
from ipulse_core.spec.kind_fields import field_of
from ipulse_core.spec.time_rounding import earliest_step

if TYPE_CHECKING:
    from ipulse.spec.experiment import ExperimentSpec

_LOSS = "/training/loss"
_ONE_OUTPUT = "spike_count_mse"  # compares an output with a rate, and not with other outputs


def regresses(value: Any) -> bool:
    """Returns whether a spec as parsed JSON, valid or not, has the loss of a regression."""
    training = value.get("training") if isinstance(value, dict) else None
    loss = training.get("loss") if isinstance(training, dict) else None
    if isinstance(loss, dict):
        return not names_in(_texts(loss)).isdisjoint((TARGET, STEP_TARGET))
    return isinstance(loss, str) and loss in REGRESSION_LOSSES


def _texts(loss: dict[Any, Any]) -> Iterator[str]:
    values = loss.get("values")
    parts = [part for part in values if isinstance(part, dict)] if isinstance(values, list) else []
    for text in (loss.get("loss"), loss.get("prediction"), *(part.get("value") for part in parts)):
        if isinstance(text, str):
            yield text


def regression_problems(spec: ExperimentSpec) -> Iterator[Problem]:
    """Yields a loss without what it is compared with, and a figure that there will not be."""
    data, outputs = spec.data, field_of(spec.data, "outputs")
    stopping = spec.training.early_stopping
    figure = "" if stopping is None else stopping.metric.rpartition("_")[2]
    if is_regression(spec.training):
        if data.kind != "npz":
            detail = f"{data.kind} has labels and no targets: use an npz data set that has targets"
            yield Problem(_LOSS, "inconsistent", detail)
        elif data.classes:
            detail = "the loss needs targets instead of labels: give outputs in its place"
            yield Problem("/data/classes", "inconsistent", detail)
        if figure == "accuracy":
            detail = "a regression has no accuracy: use a loss, or mae, the mean absolute error"
            yield Problem("/training/early_stopping/metric", "inconsistent", detail)
        return
    if field_of(data, "classes") == 1 and loss_name(spec.training) != _ONE_OUTPUT:
        detail = f"1 is below the minimum of 2: one output needs the loss {_ONE_OUTPUT}"
        yield Problem("/data/classes", "inconsistent", f"{detail}, or outputs and targets")
    if outputs:
        detail = (
            "compares with labels, and data.outputs asks for targets: choose one of "
            f"{', '.join(REGRESSION_LOSSES)}, equations of target, or remove data.outputs"
        )
        yield Problem(_LOSS, "inconsistent", detail)
    if figure == "mae":
        detail = "only a regression has a mean absolute error: use a loss or an accuracy"
        yield Problem("/training/early_stopping/metric", "inconsistent", detail)


def silent_data_problems(spec: ExperimentSpec) -> Iterator[Problem]:
    """Yields a problem if even the largest value has its spike after the last step."""
    encoding = field_of(spec.data, "encoding")
    if encoding is None or not spec.data.steps:  # those of an upload are filled in later
        return
    earliest = earliest_step(encoding, spec.data.step_ms)
    if earliest >= spec.data.steps:
        detail = (
            f"no spike falls into the time steps: with {encoding.kind} even the largest value, 1, "
            f"has its spike in step {earliest + 1:,}. Set at least {earliest + 1:,} steps, a "
            "longer step_ms or a shorter encoding.tau_eff_ms"
        )
        yield Problem("/data/steps", "no_spikes", detail)
