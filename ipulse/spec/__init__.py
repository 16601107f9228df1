"""The experiment spec: the one schema of an experiment, as pydantic models.

A spec is data, never code. The command line validates it before it sends it, and the service when
it receives it. An agent raises what the service has stored to the present form, in which every
default is written out (`ipulse_core.spec.upgrade`), and the runner reads that. `ipulse spec fields`
and docs/reference/spec.md show these models.
"""

from .code import CodeSpec, ProgramLimits
from .data import Data
from .data.digits import DigitsData
from .data.encoding import Encoding, LinearLatency, LogLatency, PopulationCode, RateCode
from .data.generated import (
    DelayedRecallData,
    FrozenNoiseData,
    PoissonData,
    RandmanData,
    YinYangData,
)
from .data.recordings import (
    DVSGestureData,
    EventsData,
    NMNISTData,
    NpzData,
    Recording,
    SHDData,
    SSCData,
)
from .data.shifts import Shifts
from .device import ConnectionType, CPUDevice, Device, EmulatorDevice, IPUDevice, IPUs
from .experiment import MAX_STATE, MAX_SYNAPSES, ExperimentSpec, parse_spec, spec_to_json
from .export import ExportSpec, NirExportSpec
from .job_spec import AnySpec, JobSpec, brief_json, parse_job_spec
from .network.conv import (
    AveragePool1DSpec,
    AveragePoolSpec,
    Conv1DSpec,
    Conv2DSpec,
    SumPool1DSpec,
    SumPoolSpec,
)
from .network.delays import DelaysSpec
from .network.equations import (
    EquationsLayerSpec,
    NeuronParameterSpec,
    NeuronSpec,
    NeuronStateSpec,
)
from .network.layers import (
    AdaptationSpec,
    GrowingCapacity,
    LayerSpec,
    LeakyReadoutSpec,
    SpikingReadoutSpec,
)
from .network.network import NetworkSpec
from .network.op import OpLayerSpec
from .network.package import PackageLayerSpec, PackageNeuronSpec, PackageParameterSpec
from .network.quantisation import QuantisationSpec
from .network.surrogate import (
    ArcTanSpec,
    BoxcarSpec,
    ExponentialSpec,
    SuperSpikeSpec,
    Surrogate,
    TableSpec,
)
from .profile import ProfileSpec
from .program import PoplarProgramSpec, ProgramDevice
from .script import ScriptData, ScriptDevice, ScriptLibrary, ScriptLimits, ScriptSpec
from .training.optimizers import AdamSpec, AdamWSpec, GradientClipping, Optimizer, SGDSpec
from .training.own_loss import (
    EquationsLossSpec,
    EquationsPenalty,
    LossParameterSpec,
    LossValueSpec,
)
from .training.regularisers import LowerBound, MembraneBound, Regulariser, UpperBound
from .training.schedules import EarlyStoppingSpec, RateSchedule, SecondThresholdRamp
from .training.training import SpikeTargets, TrainingSpec

__all__ = [
    "MAX_STATE",
    "MAX_SYNAPSES",
    "AdamSpec",
    "AdamWSpec",
    "AdaptationSpec",
    "AnySpec",
    "ArcTanSpec",
    "AveragePool1DSpec",
    "AveragePoolSpec",
    "BoxcarSpec",
    "CPUDevice",
    "CodeSpec",
    "ConnectionType",
    "Conv1DSpec",
    "Conv2DSpec",
    "DVSGestureData",
    "Data",
    "DelayedRecallData",
    "DelaysSpec",
    "Device",
    "DigitsData",
    "EarlyStoppingSpec",
    "EmulatorDevice",
    "Encoding",
    "EquationsLayerSpec",
    "EquationsLossSpec",
    "EquationsPenalty",
    "EventsData",
    "ExperimentSpec",
    "ExponentialSpec",
    "ExportSpec",
    "FrozenNoiseData",
    "GradientClipping",
    "GrowingCapacity",
    "IPUDevice",
    "IPUs",
    "JobSpec",
    "LayerSpec",
    "LeakyReadoutSpec",
    "LinearLatency",
    "LogLatency",
    "LossParameterSpec",
    "LossValueSpec",
    "LowerBound",
    "MembraneBound",
    "NMNISTData",
    "NetworkSpec",
    "NeuronParameterSpec",
    "NeuronSpec",
    "NeuronStateSpec",
    "NirExportSpec",
    "NpzData",
    "OpLayerSpec",
    "Optimizer",
    "PackageLayerSpec",
    "PackageNeuronSpec",
    "PackageParameterSpec",
    "PoissonData",
    "PoplarProgramSpec",
    "PopulationCode",
    "ProfileSpec",
    "ProgramDevice",
    "ProgramLimits",
    "QuantisationSpec",
    "RandmanData",
    "RateCode",
    "RateSchedule",
    "Recording",
    "Regulariser",
    "SGDSpec",
    "SHDData",
    "SSCData",
    "ScriptData",
    "ScriptDevice",
    "ScriptLibrary",
    "ScriptLimits",
    "ScriptSpec",
    "SecondThresholdRamp",
    "Shifts",
    "SpikeTargets",
    "SpikingReadoutSpec",
    "SumPool1DSpec",
    "SumPoolSpec",
    "SuperSpikeSpec",
    "Surrogate",
    "TableSpec",
    "TrainingSpec",
    "UpperBound",
    "YinYangData",
    "brief_json",
    "parse_job_spec",
    "parse_spec",
    "spec_to_json",
]
