"""The data sets that an experiment can learn from, one class per `kind`."""

from .digits import DigitsData
from .generated import (
    DelayedRecallData,
    FrozenNoiseData,
    PoissonData,
    RandmanData,
    YinYangData,
)
from .recordings import DVSGestureData, EventsData, NMNISTData, NpzData, SHDData, SSCData

Data = (
    DigitsData
    | RandmanData
    | YinYangData
    | PoissonData
    | FrozenNoiseData
    | DelayedRecallData
    | NpzData
    | EventsData
    | SHDData
    | SSCData
    | NMNISTData
    | DVSGestureData
)
