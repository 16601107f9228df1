"""How values in [0, 1], such as the brightness of pixels, become input spikes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Union

from ipulse_core.schema import described


@dataclass(frozen=True)
class LogLatency:
    """One spike per value, at t = tau_eff ln(x / (x - threshold)); none where x <= threshold.

    The charging time of a leaky integrator under constant current.
    """

    channels_per_value = 1

    kind: Literal["log_latency"] = described("Which code.", default="log_latency")
    tau_eff_ms: float = described(
        "Time constant of the charging.", default=20.0, gt=0.0, le=1e6, unit="ms"
    )
    threshold: float = described(
        "Value at and below which there is no spike.", default=0.2, gt=0.0, lt=1.0
    )


@dataclass(frozen=True)
class LinearLatency:
    """One spike per value, at t = (1 - x) T of a sample of duration T; none where x is 0."""

    channels_per_value = 1

    kind: Literal["linear_latency"] = described("Which code.", default="linear_latency")


@dataclass(frozen=True)
class RateCode:
    """In every step a spike with probability x max_rate, drawn once for the whole experiment."""

    channels_per_value = 1

    kind: Literal["rate"] = described("Which code.", default="rate")
    max_rate: float = described(
        "Probability of a spike in a step where x is 1.", default=0.2, gt=0.0, le=1.0
    )
    seed: int = described(
        "Decides the spikes, whatever the experiment's seed.", default=0, ge=0, le=2**31 - 1
    )


@dataclass(frozen=True)
class PopulationCode:
    """Several channels per value, each with a Gaussian receptive field.

    Field i of P has its centre at i / (P - 1), activation a = exp(-(x - centre)^2 / (2 sigma^2))
    and one spike at t = (1 - a) T of a sample of duration T, none where a is below the threshold.
    """

    kind: Literal["population"] = described("Which code.", default="population")
    fields: int = described("Receptive fields of one value.", default=4, ge=2, le=64)
    width: float = described(
        "Sigma of a field, in distances between neighbouring centres.",
        default=0.7,
        gt=0.0,
        le=100.0,
    )
    threshold: float = described(
        "Activation below which there is no spike.", default=0.1, gt=0.0, lt=1.0
    )

    @property
    def channels_per_value(self) -> int:
        return self.fields


Encoding = Union[LogLatency, LinearLatency, RateCode, PopulationCode]
