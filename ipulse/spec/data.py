"""What an experiment learns from: one class per kind of data set, told apart by `kind`.

Every class says how many `inputs` and `classes` the data have, and what they are in `words`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Optional, Union

from ipulse_core.schema import described

from .encoding import Encoding, LogLatency
from .generated import FrozenNoiseData, PoissonData, RandmanData, YinYangData
from .recordings import DVSGestureData, NMNISTData, NpzData, SHDData, SSCData
from .shifts import Shifts


@dataclass(frozen=True)
class DigitsData:
    """The 1,797 scanned 8x8 digits that ship inside scikit-learn, as spikes."""

    words = "scanned digits"
    classes = 10

    kind: Literal["digits"] = described("Which data set.", default="digits")
    steps: int = described(
        "Time steps of one sample; later spikes are dropped.", default=40, ge=1, le=10_000
    )
    step_ms: float = described("Width of one time step.", default=1.0, gt=0.0, le=1000.0, unit="ms")
    encoding: Encoding = described("How brightness becomes spikes.", factory=LogLatency)
    test_fraction: float = described(
        "Share of the samples held out for the test accuracy.", default=0.2, ge=0.05, le=0.5
    )
    split_seed: int = described(
        "Decides which samples are held out, whatever the experiment's seed.",
        default=0,
        ge=0,
        le=2**31 - 1,
    )
    samples: Optional[int] = described(
        "Use only this many samples, drawn by split_seed; null uses all 1,797.",
        default=None,
        ge=50,
        le=1797,
    )
    shifts: Optional[Shifts] = described(
        "Shifted copies of the training images to learn from, too; null makes none.", default=None
    )

    @property
    def inputs(self) -> int:
        return 64 * self.encoding.channels_per_value


Data = Union[
    DigitsData,
    RandmanData,
    YinYangData,
    PoissonData,
    FrozenNoiseData,
    NpzData,
    SHDData,
    SSCData,
    NMNISTData,
    DVSGestureData,
]
