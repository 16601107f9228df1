"""The space of a sweep: its axes, the points of its grid, and random points."""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ipulse.spec import ExperimentSpec
from ipulse.spec.field_tree import in_version_of
from ipulse.spec.paths import with_value
from ipulse_core import strict_json
from ipulse_core.errors import InvalidSpec, Problem

from .parameters import AddedValues, SweepParameter, TogetherAxis

Point = dict[str, Any]  # values by the pointers of their settings


@dataclass(frozen=True)
class SweepAxis:
    """One axis: settings that change together, and their values or their distribution."""

    pointers: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]  # empty: see parameter
    parameter: SweepParameter | None  # of a single setting

    def random(self, generator: random.Random) -> tuple[Any, ...]:
        """Return random values of the settings."""
        if self.values:
            return self.values[generator.randrange(len(self.values))]
        parameter = self.parameter
        if parameter is None:
            return ()
        if parameter.int_uniform is not None:
            low, high = parameter.int_uniform
            return (low + parameter.step * generator.randint(0, (high - low) // parameter.step),)
        if parameter.log_uniform is not None:
            exponents = map(math.log, parameter.log_uniform)
            return (math.exp(generator.uniform(*exponents)),)
        if parameter.normal is not None:
            return (generator.gauss(*parameter.normal),)
        return (generator.uniform(*(parameter.uniform or (0.0, 0.0))),)


@dataclass(frozen=True)
class SearchSpace:
    """The axes of a sweep in the order of its definition."""

    axes: tuple[SweepAxis, ...]
    added: tuple[AddedValues, ...] = ()  # their points come after all others, in this order

    @classmethod
    def of(
        cls,
        parameters: Mapping[str, SweepParameter],
        together: Sequence[TogetherAxis],
        added: Sequence[AddedValues] = (),
    ) -> SearchSpace:
        """Return the space of a sweep's parameters."""
        single = (
            SweepAxis((name,), tuple((value,) for value in given.values or ()), given)
            for name, given in parameters.items()
        )
        joint = (SweepAxis(axis.parameters, axis.values, None) for axis in together)
        return cls((*single, *joint), tuple(added))

    @property
    def pointers(self) -> list[str]:
        """The pointers of all settings that vary."""
        return [pointer for axis in self.axes for pointer in axis.pointers]

    @property
    def grid_size(self) -> int:
        """The number of points of the grid."""
        return math.prod(len(axis.values) for axis in self.axes)

    def grid_order(self, seed: int) -> tuple[int, ...]:
        """Return the indices of all points of the grid in an order that a seed determines."""
        order: list[int] = []
        for part in self._parts():
            first = len(order)
            order += [first + index for index in _shuffled(math.prod(map(len, part)), seed)]
        return tuple(order)

    def grid_point(self, index: int) -> Point:
        """Return a point of the grid; the values of the last axis change first."""
        for part in self._parts():
            size = math.prod(map(len, part))
            if index < size:
                break
            index -= size
        chosen: list[tuple[SweepAxis, int]] = []
        for axis, choices in zip(reversed(self.axes), reversed(part), strict=True):
            index, at = divmod(index, len(choices))
            chosen.append((axis, choices[at]))
        return {
            pointer: value
            for axis, at in reversed(chosen)
            for pointer, value in zip(axis.pointers, axis.values[at], strict=True)
        }

    def _parts(self) -> Iterator[list[range]]:
        """Yield the indices of the values on each axis: of the first grid, then of each addition.

        An addition has the new values of one axis, with all values that the others had then.
        """
        sizes = [len(axis.values) for axis in self.axes]
        places = [
            next(at for at, axis in enumerate(self.axes) if axis.pointers == (each.parameter,))
            for each in self.added
        ]
        for at, each in zip(places, self.added, strict=True):
            sizes[at] -= each.count
        yield [range(size) for size in sizes]
        for at, each in zip(places, self.added, strict=True):
            part = [range(size) for size in sizes]
            part[at] = range(sizes[at], sizes[at] + each.count)
            sizes[at] += each.count
            yield part

    def random_point(self, seed: int, number: int) -> Point:
        """Return the random point of trial `number`; it depends on seed and number only."""
        generator = random.Random(derived_seed(seed, number))
        return {
            pointer: value
            for axis in self.axes
            for pointer, value in zip(axis.pointers, axis.random(generator), strict=True)
        }


@lru_cache(8)
def _shuffled(size: int, seed: int) -> tuple[int, ...]:
    order = list(range(size))
    random.Random(seed).shuffle(order)
    return tuple(order)


def derived_seed(seed: int, number: int) -> int:
    """Return the seed of one trial, 32 bits."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{number}".encode()).digest()[:4], "big")


def replica_seeds(spec: Mapping[str, Any], count: int) -> tuple[int, ...]:
    """Return so many seeds of replicas, counted from the seed of a spec, valid or not."""
    default: int = ExperimentSpec.model_fields["seed"].default
    first = spec.get("seed", default)
    first = first if isinstance(first, int) else default
    return tuple(first + number for number in range(count))


def with_settings_at(spec: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of a spec with values at pointers; objects on the way are created.

    Raises:
        InvalidSpec: A pointer leads into a text or a number, or past the end of a list.
    """
    changed = dict(spec)
    for pointer, value in values.items():
        try:
            path = in_version_of(spec, strict_json.pointer_keys(pointer))
            changed = with_value(changed, path, value)
        except InvalidSpec as error:
            detail = f"there is no such setting: {error.problems[0].detail}"
            raise InvalidSpec([Problem(pointer, "unknown_field", detail)]) from None
    return changed
