"""Layers, optimizers, surrogates, schedules and devices of an `Experiment`."""

from ipulse import spec
from ipulse.spec import version_2

from .layers import layer
from .part import part

LIF = layer("LIF", "lif", "neurons")
Equations = layer("Equations", "equations", "neurons")
Conv2D = layer("Conv2D", "lif", "filters", "kernel_size", connection="conv2d")
Conv1D = layer("Conv1D", "lif", "filters", "kernel_size", connection="conv1d")
SumPool = part("SumPool", version_2.connections()["sum_pool"], "pool_size")
AveragePool = part("AveragePool", version_2.connections()["average_pool"], "pool_size")
Leaky = layer("Leaky", "leaky", "decay", is_readout=True)
Spiking = layer("Spiking", "lif", "decay", is_readout=True)
State = part("State", spec.NeuronStateSpec, "name", "update")
Parameter = part("Parameter", version_2.equations_parameter(), "name", "value")
GrowingSlots = part("GrowingSlots", spec.GrowingCapacity, "grow", "most")
Adaptation = part("Adaptation", spec.AdaptationSpec, "strength", "decay")
Delays = part("Delays", spec.DelaysSpec, "longest", "per")
Quantised = part("Quantised", spec.QuantisationSpec, "bits", "scale")

Adam = part("Adam", spec.AdamSpec, "learning_rate")
AdamW = part("AdamW", spec.AdamWSpec, "learning_rate")
SGD = part("SGD", spec.SGDSpec, "learning_rate")
Clipping = part("Clipping", spec.GradientClipping, "value")
Schedule = part("Schedule", spec.RateSchedule, "shape")
Ramp = part("Ramp", spec.SecondThresholdRamp, "start", "epochs")
EarlyStopping = part("EarlyStopping", spec.EarlyStoppingSpec, "metric", "patience")
AtLeast = part("AtLeast", spec.LowerBound, "spikes")
AtMost = part("AtMost", spec.UpperBound, "spikes")

SuperSpike = part("SuperSpike", spec.SuperSpikeSpec, "slope")
ArcTan = part("ArcTan", spec.ArcTanSpec, "slope")
Boxcar = part("Boxcar", spec.BoxcarSpec, "half_width")
Exponential = part("Exponential", spec.ExponentialSpec, "slope")
Table = part("Table", spec.TableSpec, "values", "width")

CPU = part("CPU", spec.CPUDevice)
Emulator = part("Emulator", spec.EmulatorDevice, "ipus")
IPU = part("IPU", spec.IPUDevice, "ipus")

__all__ = [name for name in dir() if name[0].isupper()]
