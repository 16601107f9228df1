"""Data sets of an `Experiment` and how values become spikes."""

from typing import Any

from ipulse import spec

from .part import SpecPart, part

Digits = part("Digits", spec.DigitsData)
Randman = part("Randman", spec.RandmanData, "classes")
YinYang = part("YinYang", spec.YinYangData)
Poisson = part("Poisson", spec.PoissonData, "classes")
FrozenNoise = part("FrozenNoise", spec.FrozenNoiseData, "classes")
DelayedRecall = part("DelayedRecall", spec.DelayedRecallData, "classes")
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


def Uploaded(version: Any, **fields: Any) -> SpecPart:
    """Return an uploaded data set; channels, classes and steps come from its content.

    Args:
        version: What `connection.data.push` returned, or a reference such as mine@3; a reference
            needs the field `kind`.
        fields: Other fields of this kind of data set.
    """
    if isinstance(version, str):
        given = {"dataset": version, **fields}
        return SpecPart("Uploaded", given, given)
    given = {"dataset": version.reference, **fields}
    return SpecPart("Uploaded", given, {"kind": version.kind, **given})
