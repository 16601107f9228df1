"""The data sets that an experiment can learn from, one class per `kind`."""

from typing import Annotated, Literal

from ipulse.models import ByKind, Field, StrictModel, unit

from .encoding import Encoding, LogLatency
from .generated import FrozenNoiseData, PoissonData, RandmanData, YinYangData
from .recordings import DVSGestureData, NMNISTData, NpzData, SHDData, SSCData
from .shifts import Shifts


class DigitsData(StrictModel):
    """The 1,797 scanned 8x8 digits of scikit-learn, encoded as spikes."""

    kind: Literal["digits"] = Field(default="digits", description="Data set.")
    steps: int = Field(
        default=40,
        ge=1,
        le=10_000,
        description="Time steps of one sample; later spikes are dropped.",
    )
    step_ms: float = Field(
        default=1.0,
        gt=0.0,
        le=1000.0,
        description="Width of one time step.",
        json_schema_extra=unit("ms"),
    )
    encoding: Annotated[Encoding, ByKind(default="log_latency")] = Field(
        default=LogLatency(), description="How brightness becomes spikes."
    )
    test_fraction: float = Field(
        default=0.2,
        ge=0.05,
        le=0.5,
        description="Fraction of the samples held out for the test accuracy.",
    )
    split_seed: int = Field(
        default=0,
        ge=0,
        le=2**31 - 1,
        description="Selects the samples that are held out, independently of the experiment's "
        "seed.",
    )
    samples: int | None = Field(
        default=None,
        ge=50,
        le=1797,
        description="Use only this many samples, drawn with split_seed; null uses all 1,797.",
    )
    shifts: Shifts | None = Field(
        default=None, description="Adds shifted copies of the training images; null adds none."
    )


Data = (
    DigitsData
    | RandmanData
    | YinYangData
    | PoissonData
    | FrozenNoiseData
    | NpzData
    | SHDData
    | SSCData
    | NMNISTData
    | DVSGestureData
)
