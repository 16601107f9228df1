"""The experiment spec: the one schema of an experiment, as pydantic models.

A spec is data, never code. The command line validates it before it sends it, the service when it
receives it, and the agent before it starts a runner. The runner reads the resolved spec, in which
every default is written out. docs/reference/spec.md is generated from these models.
"""

from .data import Data, DigitsData
from .device import ConnectionType, CPUDevice, Device, EmulatorDevice, IPUDevice, IPUs
from .encoding import Encoding, LinearLatency, LogLatency, PopulationCode, RateCode
from .experiment import MAX_STATE, MAX_SYNAPSES, ExperimentSpec, parse_spec, spec_to_json
from .generated import FrozenNoiseData, PoissonData, RandmanData, YinYangData
from .layers import GrowingCapacity, LeakyReadout, LIFLayer, SpikingReadout
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
