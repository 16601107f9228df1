"""The experiment spec: the only schema there is.

A spec is data and never code. The service validates it, the command line validates it before
sending, the runner reads it on Python 3.8, and docs/spec.md is generated from it.
Shapes are written `[time, batch, neurons]`; the mathematics is in ops/lif/reference.py.
"""

from .data import DigitsData
from .device import CPUDevice
from .experiment import MAX_STATE, MAX_SYNAPSES, ExperimentSpec, parse_spec, spec_to_json
from .network import LeakyReadout, LIFLayer, Network, Surrogate
from .training import Adam, RateSchedule, Training

__all__ = [
    "MAX_STATE",
    "MAX_SYNAPSES",
    "Adam",
    "CPUDevice",
    "DigitsData",
    "ExperimentSpec",
    "LIFLayer",
    "LeakyReadout",
    "Network",
    "RateSchedule",
    "Surrogate",
    "Training",
    "parse_spec",
    "spec_to_json",
]
