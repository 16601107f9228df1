"""Data sets of an `Experiment` and how values become spikes."""

from ipulse import spec

from .part import part

Digits = part("Digits", spec.DigitsData)
Randman = part("Randman", spec.RandmanData, "classes")
YinYang = part("YinYang", spec.YinYangData)
Poisson = part("Poisson", spec.PoissonData, "classes")
FrozenNoise = part("FrozenNoise", spec.FrozenNoiseData, "classes")
Npz = part("Npz", spec.NpzData, "dataset")
Events = part("Events", spec.EventsData, "dataset")
SHD = part("SHD", spec.SHDData)
SSC = part("SSC", spec.SSCData)
NMNIST = part("NMNIST", spec.NMNISTData)
DVSGesture = part("DVSGesture", spec.DVSGestureData)

LogLatency = part("LogLatency", spec.LogLatency)
LinearLatency = part("LinearLatency", spec.LinearLatency)
Rate = part("Rate", spec.RateCode, "max_rate")
Population = part("Population", spec.PopulationCode, "fields")
Shifts = part("Shifts", spec.Shifts, "copies")
