"""Layers, optimizers, surrogates, schedules and devices of an `Experiment`."""

from ipulse import spec

from .part import part

LIF = part("LIF", spec.LayerSpec, "neurons")
Conv2D = part("Conv2D", spec.Conv2DSpec, "filters", "kernel_size")
Conv1D = part("Conv1D", spec.Conv1DSpec, "filters", "kernel_size")
SumPool = part("SumPool", spec.SumPoolSpec, "pool_size")
AveragePool = part("AveragePool", spec.AveragePoolSpec, "pool_size")
Leaky = part("Leaky", spec.LeakyReadoutSpec, "decay")
Spiking = part("Spiking", spec.SpikingReadoutSpec, "decay")
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
