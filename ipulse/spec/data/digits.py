"""The scanned digits that are installed with scikit-learn."""

from typing import Annotated, Literal

from ipulse.models import ByKind, Field, StrictModel
from ipulse.spec.fields import Seed, StepMs, Steps, ValidationFraction

from .encoding import Encoding, LogLatency
from .shifts import Shifts


class DigitsData(StrictModel):
    """The 1,797 scanned 8x8 digits of scikit-learn, encoded as spikes."""

    kind: Literal["digits"] = Field(default="digits", description="Data set.")
    steps: Steps = Field(
        default=40, description="Time steps of one sample; later spikes are dropped."
    )
    step_ms: StepMs = 1.0
    encoding: Annotated[Encoding, ByKind(default="log_latency")] = Field(
        default=LogLatency(), description="How brightness becomes spikes."
    )
    test_fraction: Annotated[float, Field(ge=0.05, le=0.9)] = Field(
        default=0.2, description="Fraction of the samples held out for the test accuracy."
    )
    validation: ValidationFraction = 0.0
    split_seed: Seed = Field(
        default=0,
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
