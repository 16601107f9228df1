"""Parts of an experiment, such as a layer, and the functions that make them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, get_args

from pydantic import BaseModel

from ipulse.models import StrictModel

_TAGS = ("kind", "name")  # fields that say which member of a union an object is


class SpecPart(Mapping[str, Any]):
    """The fields of a part of a spec, as they were given; `Experiment.check` checks them."""

    def __init__(self, maker: str, fields: Mapping[str, Any], tag: Mapping[str, str]) -> None:
        self._maker = maker
        self._given = {name: plain(value) for name, value in fields.items()}
        self._fields = {**tag, **self._given}

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

    def make(*values: Any, **fields: Any) -> SpecPart:
        if len(values) > len(positional):
            count = f"{len(positional)} argument" + ("" if len(positional) == 1 else "s")
            raise TypeError(f"{maker}() takes {count} without a name; got {len(values)}")
        named = dict(zip(positional, values, strict=False))
        if twice := named.keys() & fields.keys():
            raise TypeError(f"{maker}() got {min(twice)} twice")
        return SpecPart(maker, {**named, **fields}, tag)

    make.__name__ = make.__qualname__ = maker
    make.__doc__ = _docstring(model, tag)
    vars(make)["__signature__"] = _signature(model, tag, positional)
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
        choices = () if field is None else get_args(field.annotation)
        if field is not None and len(choices) == 1 and choices[0] == field.default:
            return {name: field.default}
    return {}


def _signature(
    model: type[StrictModel], tag: Mapping[str, str], positional: tuple[str, ...]
) -> inspect.Signature:
    names = [*positional, *(name for name in model.model_fields if name not in positional)]
    parameters = []
    for name in names:
        field = model.model_fields[name]
        if name not in tag:
            parameters.append(
                inspect.Parameter(
                    name,
                    inspect.Parameter.POSITIONAL_OR_KEYWORD
                    if name in positional
                    else inspect.Parameter.KEYWORD_ONLY,
                    default=inspect.Parameter.empty
                    if field.is_required()
                    else plain(field.get_default()),
                )
            )
    return inspect.Signature(parameters, return_annotation=SpecPart)


def _docstring(model: type[StrictModel], tag: Mapping[str, str]) -> str:
    lines = [inspect.cleandoc(model.__doc__ or ""), "", "Args:"]
    for name, field in model.model_fields.items():
        if name not in tag:
            lines.append(f"    {name}: {field.description}")
    return "\n".join(lines)
