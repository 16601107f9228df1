"""Parts of an experiment, such as an optimizer, and the functions that make them."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal, Protocol, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from ipulse.models import StrictModel

_TAGS = ("kind", "name")  # fields that say which member of a union an object is


class Array(Protocol):
    """An array of NumPy or of another library."""

    def tolist(self) -> Any:
        """Return nested lists of numbers."""


class SpecPart(Mapping[str, Any]):
    """The fields of a part of a spec, as they were given; `Experiment.check` checks their values.

    Args:
        maker: The function that made it.
        given: The arguments that the function got, by their names.
        fields: The part in a document of version 2.
        pool: A pool of a layer's spikes, which the next layer gets.
    """

    def __init__(
        self,
        maker: str,
        given: Mapping[str, Any],
        fields: Mapping[str, Any],
        pool: Mapping[str, Any] | None = None,
    ) -> None:
        self._maker = maker
        self._given = {name: plain(value) for name, value in given.items()}
        self._fields = plain(fields)
        self.pool = pool

    def __getitem__(self, name: str) -> Any:
        return self._fields[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self._given.items())
        return f"{self._maker}({given})"


def part(maker: str, model: type[StrictModel], *positional: str) -> Callable[..., SpecPart]:
    """Returns the function that makes parts of one kind, with the fields of its model.

    Args:
        maker: The name of the function.
        model: The model whose fields it takes.
        positional: Fields that may be given without their names.
    """
    tag = _tag_of(model)
    fields = {name: field for name, field in model.model_fields.items() if name not in tag}

    def make(*values: Any, **given: Any) -> SpecPart:
        named = arguments(maker, positional, fields, values, given)
        return SpecPart(maker, named, {**tag, **named})

    return described(make, maker, model.__doc__, fields, positional)


def arguments(
    maker: str,
    positional: tuple[str, ...],
    fields: Iterable[str],
    values: tuple[Any, ...],
    given: Mapping[str, Any],
) -> dict[str, Any]:
    """Returns the arguments of a call by their names.

    Raises:
        TypeError: There are too many, one is given twice, or there is none of this name.
    """
    if len(values) > len(positional):
        count = f"{len(positional)} argument" + ("" if len(positional) == 1 else "s")
        raise TypeError(f"{maker}() takes {count} without a name; got {len(values)}")
    named = dict(zip(positional, values, strict=False))
    if twice := named.keys() & given.keys():
        raise TypeError(f"{maker}() got {min(twice)} twice")
    known = list(fields)
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(known)}"
            raise TypeError(f"{maker}() has no argument {name}: {hint}")
    return {**named, **given}


def described(
    make: Callable[..., SpecPart],
    maker: str,
    text: str | None,
    fields: Mapping[str, FieldInfo],
    positional: tuple[str, ...],
) -> Callable[..., SpecPart]:
    """Returns a function with a name, a signature and a docstring for its fields."""
    make.__name__ = make.__qualname__ = maker
    lines = [inspect.cleandoc(text or ""), "", "Args:"]
    lines += [f"    {name}: {_sentence(field)}" for name, field in _ordered(fields, positional)]
    make.__doc__ = "\n".join(lines)
    vars(make)["__signature__"] = _signature(fields, positional)
    vars(make)["__fields__"] = dict(_ordered(fields, positional))
    return make


def plain(value: Any) -> Any:
    """Returns a value as JSON knows it: parts as objects, arrays and tuples as lists.

    What JSON does not know stays as it is: `Experiment.check` reports it.
    """
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple, range)):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):  # of NumPy, without an import of it
        return value.tolist()
    return value


def _tag_of(model: type[StrictModel]) -> dict[str, str]:
    """Returns the field that selects this model among others, with its value."""
    for name in _TAGS:
        field = model.model_fields.get(name)
        if field is not None and get_origin(field.annotation) is Literal:
            choices = get_args(field.annotation)
            if len(choices) == 1:
                return {name: choices[0]}
    return {}


def _sentence(field: FieldInfo) -> str:
    """Returns the description of a field, with its unit."""
    extra = field.json_schema_extra
    unit = extra.get("unit") if isinstance(extra, dict) else None
    return f"{field.description}" + (f" Unit: {unit}." if unit else "")


def _ordered(
    fields: Mapping[str, FieldInfo], positional: tuple[str, ...]
) -> Iterator[tuple[str, FieldInfo]]:
    for name in (*positional, *(name for name in fields if name not in positional)):
        yield name, fields[name]


def _signature(fields: Mapping[str, FieldInfo], positional: tuple[str, ...]) -> inspect.Signature:
    parameters = []
    for name, field in _ordered(fields, positional):
        is_first = name in positional
        parameters.append(
            inspect.Parameter(
                name,
                inspect.Parameter.POSITIONAL_OR_KEYWORD
                if is_first
                else inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty
                if field.is_required()
                else plain(field.get_default(call_default_factory=True)),
            )
        )
    return inspect.Signature(parameters, return_annotation=SpecPart)
