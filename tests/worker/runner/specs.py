"""Specs and their parts as the runner reads them, made like the classes of `ipulse.spec`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ipulse_core.registry.versions import lower
from ipulse_core.spec.resolved_spec import read_spec, spec_document

from .resolver import resolve

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec


def spec_from(document: Any) -> ExperimentSpec:
    """Returns the spec in a document that need not be resolved."""
    return read_spec(resolve("ExperimentSpec", lower(document)))


def _made(_class: str, **fields: Any) -> Any:
    document = {field: spec_document(value) for field, value in fields.items()}
    return read_spec(resolve(_class, document))


DigitsData = partial(_made, "DigitsData")
RandmanData = partial(_made, "RandmanData")
YinYangData = partial(_made, "YinYangData")
PoissonData = partial(_made, "PoissonData")
FrozenNoiseData = partial(_made, "FrozenNoiseData")
DelayedRecallData = partial(_made, "DelayedRecallData")
NpzData = partial(_made, "NpzData")
EventsData = partial(_made, "EventsData")
SHDData = partial(_made, "SHDData")
SSCData = partial(_made, "SSCData")
NMNISTData = partial(_made, "NMNISTData")
DVSGestureData = partial(_made, "DVSGestureData")
LogLatency = partial(_made, "LogLatency")
LinearLatency = partial(_made, "LinearLatency")
RateCode = partial(_made, "RateCode")
PopulationCode = partial(_made, "PopulationCode")
Shifts = partial(_made, "Shifts")
Adam = partial(_made, "AdamSpec")
AdamW = partial(_made, "AdamWSpec")
SGD = partial(_made, "SGDSpec")
GradientClipping = partial(_made, "GradientClipping")
RateSchedule = partial(_made, "RateSchedule")
Training = partial(_made, "TrainingSpec")
EarlyStopping = partial(_made, "EarlyStoppingSpec")
