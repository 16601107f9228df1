"""What an experiment learns from: one class per kind of data set, told apart by `kind`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Optional

from ipulse.schema import described


@dataclass(frozen=True)
class DigitsData:
    """The 1,797 scanned 8x8 digits that ship inside scikit-learn, one spike per bright pixel.

    A pixel of brightness x in [0, 1] spikes at t = tau_eff ln(x / (x - threshold)), and not at
    all where x <= threshold: the charging time of a leaky integrator under constant current.
    """

    inputs = 64  # pixels
    classes = 10

    kind: Literal["digits"] = described("Which data set.", default="digits")
    steps: int = described(
        "Time steps of one sample; later spikes are dropped.", default=40, ge=1, le=10_000
    )
    step_ms: float = described("Width of one time step.", default=1.0, gt=0.0, le=1000.0, unit="ms")
    tau_eff_ms: float = described(
        "Time constant of the latency code.", default=20.0, gt=0.0, le=1e6, unit="ms"
    )
    threshold: float = described(
        "Brightness below which a pixel stays silent.", default=0.2, gt=0.0, lt=1.0
    )
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
