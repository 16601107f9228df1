"""What stands in for the derivative of a spike in the backward pass; the shapes are told apart by
`name`. x is the membrane less the threshold, the equations are in ops/ipulse_ops/surrogate.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Tuple, Union

from ipulse_core.schema import described


@dataclass(frozen=True)
class SuperSpike:
    """1 / (slope |x| + 1)^2, the derivative of a fast sigmoid."""

    name: Literal["superspike"] = described("Which shape.", default="superspike")
    slope: float = described("Steepness of the surrogate.", default=10.0, gt=0.0, le=1e4)


@dataclass(frozen=True)
class ArcTan:
    """1 / ((slope x)^2 + 1), the derivative of an arctangent."""

    name: Literal["arctan"] = described("Which shape.", default="arctan")
    slope: float = described("Steepness of the surrogate.", default=10.0, gt=0.0, le=1e4)


@dataclass(frozen=True)
class Boxcar:
    """1 where |x| < half_width, else 0."""

    name: Literal["boxcar"] = described("Which shape.", default="boxcar")
    half_width: float = described(
        "How far from the threshold gradient flows.", default=0.5, gt=0.0, le=1e6
    )


@dataclass(frozen=True)
class Exponential:
    """exp(-slope |x|)."""

    name: Literal["exponential"] = described("Which shape.", default="exponential")
    slope: float = described("Steepness of the surrogate.", default=10.0, gt=0.0, le=1e4)


@dataclass(frozen=True)
class Table:
    """Your own shape: straight lines between values, 0 beyond the width."""

    values: Tuple[float, ...] = described(
        "The surrogate at even distances from -width to width.",
        min_items=2,
        max_items=4096,
        ge=-1e6,
        le=1e6,
    )
    width: float = described("How far from the threshold the table goes.", gt=0.0, le=1e6)
    name: Literal["table"] = described("Which shape.", default="table")


Surrogate = Union[SuperSpike, ArcTan, Boxcar, Exponential, Table]
