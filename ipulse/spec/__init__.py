"""The experiment spec: the only schema there is.

A spec is data and never code. The service validates it, the command line validates it before
sending, the runner reads it on Python 3.8, and docs/reference/spec.md is generated from it.
Shapes are written `[time, batch, neurons]`; the mathematics is in
ops/ipulse_ops/lif/reference/network_pass.py.
"""

from .data import Data, DigitsData
from .device import ConnectionType, CPUDevice, Device, EmulatorDevice, IPUDevice, IPUs
from .encoding import Encoding, LinearLatency, LogLatency, PopulationCode, RateCode
from .experiment import MAX_STATE, MAX_SYNAPSES, ExperimentSpec, parse_spec, spec_to_json
from .generated import FrozenNoiseData, PoissonData, RandmanData, YinYangData
from .layers import GrowingCapacity, LeakyReadout, LIFLayer, PerNeuron, SpikingReadout
from .network import Network
from .optimizers import SGD, Adam, AdamW, GradientClipping, Optimizer
from .recordings import (
    DVSGestureData,
    NMNISTData,
    NpzData,
    Recording,
    SHDData,
    SSCData,
)
from .regularisers import LowerBound, Regulariser, UpperBound
from .schedules import EarlyStopping, RateSchedule, SecondThresholdRamp
from .shifts import Shifts
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
    "ConnectionType",
    "DVSGestureData",
    "Data",
    "Device",
    "DigitsData",
    "EarlyStopping",
    "EmulatorDevice",
    "Encoding",
    "ExperimentSpec",
    "Exponential",
    "FrozenNoiseData",
    "GradientClipping",
    "GrowingCapacity",
    "IPUDevice",
    "IPUs",
    "LIFLayer",
    "LeakyReadout",
    "LinearLatency",
    "LogLatency",
    "LowerBound",
    "NMNISTData",
    "Network",
    "NpzData",
    "Optimizer",
    "PerNeuron",
    "PoissonData",
    "PopulationCode",
    "RandmanData",
    "RateCode",
    "RateSchedule",
    "Recording",
    "Regulariser",
    "SHDData",
    "SSCData",
    "SecondThresholdRamp",
    "Shifts",
    "SpikeTargets",
    "SpikingReadout",
    "SuperSpike",
    "Surrogate",
    "Table",
    "Training",
    "UpperBound",
    "YinYangData",
    "parse_spec",
    "spec_to_json",
]
