"""Surrogate derivatives of a spike with respect to the membrane.

`phi(x)` is the surrogate at `x = u - threshold`, float64 of x's shape. All but the table are 1 at
x = 0 and decrease on both sides, so that one can replace another at the same scale of gradients.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Tuple, Type, Union

import numpy as np

from ipulse_ops.validation import choice, instance


@dataclass(frozen=True)
class SuperSpike:
    """The derivative `1 / (slope |x| + 1)^2` of the fast sigmoid `x / (slope |x| + 1)`."""

    slope: float = 10.0

    def __post_init__(self) -> None:
        _check_positive("slope", self.slope)

    def phi(self, x: np.ndarray) -> np.ndarray:
        """Return the surrogate at x, float64 of its shape."""
        phi: np.ndarray = 1 / (self.slope * np.abs(x) + 1) ** 2
        return phi


@dataclass(frozen=True)
class ArcTan:
    """The derivative `1 / ((slope x)^2 + 1)` of `arctan(slope x) / slope`."""

    slope: float = 10.0

    def __post_init__(self) -> None:
        _check_positive("slope", self.slope)

    def phi(self, x: np.ndarray) -> np.ndarray:
        """Return the surrogate at x, float64 of its shape."""
        phi: np.ndarray = 1 / ((self.slope * x) ** 2 + 1)
        return phi


@dataclass(frozen=True)
class Boxcar:
    """1 where `|x| < half_width`, else 0."""

    half_width: float = 0.5

    def __post_init__(self) -> None:
        _check_positive("half_width", self.half_width)

    def phi(self, x: np.ndarray) -> np.ndarray:
        """Return the surrogate at x, float64 of its shape."""
        phi: np.ndarray = (np.abs(x) < self.half_width).astype(np.float64)
        return phi


@dataclass(frozen=True)
class Exponential:
    """The exponential `exp(-slope |x|)`."""

    slope: float = 10.0

    def __post_init__(self) -> None:
        _check_positive("slope", self.slope)

    def phi(self, x: np.ndarray) -> np.ndarray:
        """Return the surrogate at x, float64 of its shape."""
        phi: np.ndarray = np.exp(-self.slope * np.abs(x))
        return phi


@dataclass(frozen=True)
class Table:
    """A user-defined surrogate: linear between `values` spaced evenly over -width <= x <= width.

    It may differ above and below the threshold, and is 0 beyond the width. With

        p = (x + width) (n - 1) / (2 width),  k = min(floor(p), n - 2),      n = number of values

    the surrogate is `values[k] + (p - k) (values[k + 1] - values[k])`.
    """

    values: Tuple[float, ...]
    width: float

    def __post_init__(self) -> None:
        # A list from JSON would make the surrogate unhashable.
        try:
            values = tuple(float(value) for value in self.values)
        except (TypeError, ValueError) as error:
            raise ValueError(f"values must be a list of numbers; got {self.values!r}") from error
        object.__setattr__(self, "values", values)
        if len(self.values) < 2:
            raise ValueError(f"values must be at least 2; got {len(self.values)}")
        if not np.all(np.isfinite(self.values)):
            raise ValueError("values must be finite")
        _check_positive("width", self.width)

    def phi(self, x: np.ndarray) -> np.ndarray:
        """Return the surrogate at x, float64 of its shape."""
        values = np.array(self.values)
        inside = np.abs(x) <= self.width
        place = (np.where(inside, x, 0) + self.width) * ((values.size - 1) / (2 * self.width))
        k = np.minimum(place.astype(np.int64), values.size - 2)
        return np.where(inside, values[k] + (place - k) * (values[k + 1] - values[k]), 0.0)


Surrogate = Union[SuperSpike, ArcTan, Boxcar, Exponential, Table]

SURROGATES: Dict[str, Type[Surrogate]] = {
    "superspike": SuperSpike,
    "arctan": ArcTan,
    "boxcar": Boxcar,
    "exponential": Exponential,
    "table": Table,
}


def surrogate_of(plain: Union[Surrogate, Dict[str, Any], str]) -> Surrogate:
    """Return a surrogate from itself, from its fields and its name as "kind", or from its name.

    A name alone takes the defaults. A table has none.

    Raises ValueError for an unknown name or field, or a value out of range.
    """
    if isinstance(plain, str):
        plain = {"kind": plain}
    if not isinstance(plain, dict):
        instance("surrogate", plain, *SURROGATES.values())
        return plain
    fields = dict(plain)
    kind = choice("surrogate", fields.pop("kind", "superspike"), tuple(SURROGATES))
    try:
        return SURROGATES[kind](**fields)
    except TypeError as error:
        reason = str(error).split("__init__() ", 1)[-1]
        raise ValueError(f"surrogate {kind}: {reason}") from error


def _check_positive(name: str, value: Any) -> None:
    try:
        is_valid = bool(value > 0 and np.isfinite(value))
    except (TypeError, ValueError):  # a string or an array
        is_valid = False
    if not is_valid:
        raise ValueError(f"{name} must be greater than 0; got {value!r}")
