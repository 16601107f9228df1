"""Surrogate gradients: what replaces the derivative of a spike in the backward pass.

x is the membrane minus the threshold; the equations are in ops/ipulse_ops/surrogate.py. The
classes are selected by `name`.
"""

from typing import Annotated, Literal

from ipulse.models import Field, ListOf, StrictModel


class SuperSpikeSpec(StrictModel):
    """1 / (slope |x| + 1)^2, the derivative of a fast sigmoid."""

    name: Literal["superspike"] = Field(default="superspike", description="Shape.")
    slope: float = Field(default=10.0, gt=0.0, le=1e4, description="Steepness of the surrogate.")


class ArcTanSpec(StrictModel):
    """1 / ((slope x)^2 + 1), the derivative of an arctangent."""

    name: Literal["arctan"] = Field(default="arctan", description="Shape.")
    slope: float = Field(default=10.0, gt=0.0, le=1e4, description="Steepness of the surrogate.")


class BoxcarSpec(StrictModel):
    """1 where |x| < half_width, else 0."""

    name: Literal["boxcar"] = Field(default="boxcar", description="Shape.")
    half_width: float = Field(
        default=0.5,
        gt=0.0,
        le=1e6,
        description="Distance from the threshold within which gradient flows.",
    )


class ExponentialSpec(StrictModel):
    """exp(-slope |x|)."""

    name: Literal["exponential"] = Field(default="exponential", description="Shape.")
    slope: float = Field(default=10.0, gt=0.0, le=1e4, description="Steepness of the surrogate.")


class TableSpec(StrictModel):
    """Your own shape: linear interpolation between values, 0 beyond the width."""

    values: ListOf[Annotated[float, Field(ge=-1e6, le=1e6)]] = Field(
        min_length=2,
        max_length=4096,
        description="The surrogate at equally spaced points from -width to width.",
    )
    width: float = Field(
        gt=0.0, le=1e6, description="Distance from the threshold that the table covers."
    )
    name: Literal["table"] = Field(default="table", description="Shape.")


Surrogate = SuperSpikeSpec | ArcTanSpec | BoxcarSpec | ExponentialSpec | TableSpec
