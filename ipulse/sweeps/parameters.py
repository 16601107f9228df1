"""The values of the settings that a sweep varies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from ipulse.models import Field, Integer, ListOf, StrictModel, few
from ipulse_core import strict_json
from ipulse_core.errors import Problem

MAX_VALUES = 10_000

_Bound = Annotated[float, Field(ge=-1e300, le=1e300)]
_Interval = Annotated[tuple[_Bound, _Bound], Field(strict=False)]
_IntegerInterval = Annotated[tuple[Integer, Integer], Field(strict=False)]

KINDS = ("values", "uniform", "log_uniform", "int_uniform", "normal")


class SweepParameter(StrictModel):
    """The values of one setting: exactly one of values, uniform, log_uniform, int_uniform, normal.

    A grid needs `values`.
    """

    values: Annotated[ListOf[Any], Field(min_length=1, max_length=MAX_VALUES), few(MAX_VALUES)] | (
        None
    ) = Field(default=None, description="JSON values, each different.")
    uniform: _Interval | None = Field(
        default=None, description="[low, high]: a number between both."
    )
    log_uniform: _Interval | None = Field(
        default=None,
        description="[low, high], above 0: a number whose logarithm is uniformly distributed.",
    )
    int_uniform: _IntegerInterval | None = Field(
        default=None, description="[low, high]: an integer, both ends included."
    )
    step: Annotated[Integer, Field(ge=1)] = Field(
        default=1, description="Distance of two integers of int_uniform."
    )
    normal: _Interval | None = Field(
        default=None, description="[mean, standard deviation]: a normally distributed number."
    )

    @property
    def kind(self) -> str:
        """The field that is given."""
        return next(name for name in KINDS if getattr(self, name) is not None)

    def problems(self) -> Iterator[Problem]:
        """Yields a problem unless exactly one field is given, with a sensible interval."""
        given = [name for name in KINDS if getattr(self, name) is not None]
        if len(given) != 1:
            detail = f"must have exactly one of {', '.join(KINDS)}; got {' and '.join(given) or 0}"
            yield Problem("", "inconsistent", detail)
            return
        kind = given[0]
        if self.step != 1 and kind != "int_uniform":
            yield Problem("/step", "inconsistent", "only int_uniform has a step")
        if self.values is not None:
            yield from repeated(self.values, "/values")
            return
        low, high = getattr(self, kind)
        if kind == "normal":
            if high <= 0:
                yield Problem("/normal/1", "out_of_range", "the deviation must be above 0")
        elif low >= high:
            yield Problem(f"/{kind}", "inconsistent", f"{low:g} must be below {high:g}")
        elif kind == "log_uniform" and low <= 0:
            yield Problem("/log_uniform/0", "out_of_range", f"must be above 0; got {low:g}")
        elif kind == "int_uniform" and self.step > high - low:
            yield Problem("/step", "inconsistent", f"must be at most {high - low}")


class TogetherAxis(StrictModel):
    """Several settings that change together."""

    parameters: Annotated[ListOf[str], Field(min_length=1, max_length=16)] = Field(
        description="JSON pointers of the settings."
    )
    values: Annotated[
        ListOf[ListOf[Any]], Field(min_length=1, max_length=MAX_VALUES), few(MAX_VALUES)
    ] = Field(description="Lists of one value for each of them.")

    def problems(self) -> Iterator[Problem]:
        """Yields a problem for each list of another length, and for equal ones."""
        for index, point in enumerate(self.values):
            if len(point) != len(self.parameters):
                detail = f"must have {len(self.parameters)} values; got {len(point)}"
                yield Problem(f"/values/{index}", "wrong_length", detail)
        yield from repeated(self.values, "/values")


class AddedValues(StrictModel):
    """Values that a grid got after its start: the last ones of a parameter at that time."""

    parameter: str = Field(description="JSON pointer of the setting.")
    count: Annotated[Integer, Field(ge=1, le=MAX_VALUES)] = Field(description="How many.")


def repeated(values: tuple[Any, ...], pointer: str) -> Iterator[Problem]:
    """Yields a problem for each value that occurred before; 1 and 1.0 are the same number."""
    first: dict[str, int] = {}
    for index, value in enumerate(values):
        number = isinstance(value, float) and value.is_integer() and abs(value) < 2**53
        text = strict_json.dumps(int(value) if number else value)
        if text in first:
            detail = f"the same value as at {first[text]}"
            yield Problem(f"{pointer}/{index}", "repeated", detail)
        first.setdefault(text, index)
