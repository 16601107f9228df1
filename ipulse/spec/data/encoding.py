"""Encodings of values in [0, 1], such as the brightness of pixels, as input spikes."""

from typing import Literal

from ipulse.models import Field, StrictModel, unit
from ipulse.spec.fields import Seed


class LogLatency(StrictModel):
    """One spike per value, at t = tau_eff ln(x / (x - threshold)); none where x <= threshold.

    This is the charging time of a leaky integrator under constant current.
    """

    kind: Literal["log_latency"] = Field(default="log_latency", description="Encoding.")
    tau_eff_ms: float = Field(
        default=20.0,
        gt=0.0,
        le=1e6,
        description="Time constant of the charging.",
        json_schema_extra=unit("ms"),
    )
    threshold: float = Field(
        default=0.2,
        gt=0.0,
        lt=1.0,
        description="Values up to and including this one give no spike.",
    )


class LinearLatency(StrictModel):
    """One spike per value, at t = (1 - x) T of a sample of duration T; none where x is 0."""

    kind: Literal["linear_latency"] = Field(default="linear_latency", description="Encoding.")


class RateCode(StrictModel):
    """A spike in each step with probability x max_rate, drawn once for the whole experiment."""

    kind: Literal["rate"] = Field(default="rate", description="Encoding.")
    max_rate: float = Field(
        default=0.2, gt=0.0, le=1.0, description="Probability of a spike in a step where x is 1."
    )
    seed: Seed = Field(
        default=0, description="Seed of the spikes, independent of the experiment's seed."
    )


class PopulationCode(StrictModel):
    """Several channels per value, each with a Gaussian receptive field.

    Field i of P has its centre at i / (P - 1), activation a = exp(-(x - centre)^2 / (2 sigma^2))
    and one spike at t = (1 - a) T of a sample of duration T, none where a is below the threshold.
    """

    kind: Literal["population"] = Field(default="population", description="Encoding.")
    fields: int = Field(default=4, ge=2, le=64, description="Receptive fields per value.")
    width: float = Field(
        default=0.7,
        gt=0.0,
        le=100.0,
        description="Sigma of a field, in distances between neighbouring centres.",
    )
    threshold: float = Field(
        default=0.1, gt=0.0, lt=1.0, description="Activations below this one give no spike."
    )


Encoding = LogLatency | LinearLatency | RateCode | PopulationCode
