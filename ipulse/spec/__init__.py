"""The experiment spec: the only schema there is.

A spec is data and never code. The service validates it, the command line validates it before
sending, the runner reads it on Python 3.8, and docs/spec.md is generated from it.
Shapes are written `[time, batch, neurons]`; the mathematics is in ops/lif/reference.py.
"""

from .data import DigitsData
from .device import CPUDevice
from .experiment import MAX_STATE, MAX_SYNAPSES, ExperimentSpec, parse_spec, spec_to_json
from .layers import GrowingCapacity, LeakyReadout, LIFLayer, PerNeuron, SpikingReadout
from .network import Network
from .optimizers import SGD, Adam, AdamW, GradientClipping, Optimizer
from .regularisers import LowerBound, Regulariser, UpperBound
from .schedules import EarlyStopping, RateSchedule, SecondThresholdRamp
from .surrogate import ArcTan, Boxcar, Exponential, SuperSpike, Surrogate, Table
from .training import SpikeTargets, Training

__all__ = [
    "MAX_STATE",
    "MAX_SYNAPSES",
    "SGD",
    "Adam",
    "AdamW",
    "ArcTan",
    "Boxcar",
    "CPUDevice",
    "DigitsData",
    "EarlyStopping",
    "ExperimentSpec",
    "Exponential",
    "GradientClipping",
    "GrowingCapacity",
    "LIFLayer",
    "LeakyReadout",
    "LowerBound",
    "Network",
    "Optimizer",
    "PerNeuron",
    "RateSchedule",
    "Regulariser",
    "SecondThresholdRamp",
    "SpikeTargets",
    "SpikingReadout",
    "SuperSpike",
    "Surrogate",
    "Table",
    "Training",
    "UpperBound",
    "parse_spec",
    "spec_to_json",
]
