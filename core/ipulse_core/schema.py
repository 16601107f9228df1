"""Frozen dataclasses as the schema: what a field may hold is written beside the field, once.

`described` attaches limits and a sentence to a field. From those come the parser (parsing.py), the
JSON Schema in the OpenAPI document (json_schema.py), and the tables in docs/reference/spec.md.
Standard library only, because the same classes are read by a runner on Python 3.8.
"""

from __future__ import annotations

import dataclasses
import re
import types
from typing import Any, Dict, Optional, Tuple, Type, Union, cast, get_args, get_type_hints

MAX_INTEGER = 2**53 - 1  # the largest integer that every JSON reader keeps exactly
MAX_TEXT = 512  # characters, where a field says nothing else
MAX_KEY = 64  # characters of a key in a map

# C0 and C1 but tab and line ends: what a terminal might take for a command. And surrogates,
# which are no characters at all and which no file can hold.
CONTROL_CHARACTERS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
UNIONS = (Union, getattr(types, "UnionType", Union))  # `X | Y` has a type of its own since 3.10
_FIELDS: Dict[Type[Any], Tuple[Tuple[dataclasses.Field[Any], Any], ...]] = {}
_NAMES: Dict[Type[Any], Tuple[str, ...]] = {}
_PLAIN = frozenset({str, int, float, bool, type(None)})


def described(
    doc: str,
    *,
    default: Any = dataclasses.MISSING,
    factory: Any = dataclasses.MISSING,
    ge: Optional[float] = None,
    gt: Optional[float] = None,
    le: Optional[float] = None,
    lt: Optional[float] = None,
    min_items: int = 0,
    max_items: Optional[int] = None,
    max_length: int = MAX_TEXT,
    pattern: Optional[str] = None,
    unit: str = "",
) -> Any:
    """A dataclass field with its meaning, its limits and its unit.

    Of a field that is a union of tagged classes, the tag may be left out where the default is
    one of them: that one is meant.
    """
    metadata: Dict[str, Any] = {
        "doc": doc,
        "ge": ge,
        "gt": gt,
        "le": le,
        "lt": lt,
        "min_items": min_items,
        "max_items": max_items,
        "max_length": max_length,
        "pattern": pattern,
        "unit": unit,
        "untagged": None,
    }
    if dataclasses.is_dataclass(factory):
        tagged = [field for field in dataclasses.fields(factory) if field.name in ("kind", "name")]
        metadata["untagged"] = tagged[0].default if tagged else None
    if factory is not dataclasses.MISSING:
        return dataclasses.field(default_factory=factory, metadata=metadata)
    if default is not dataclasses.MISSING:
        return dataclasses.field(default=default, metadata=metadata)
    return dataclasses.field(metadata=metadata)


def to_json(value: Any) -> Any:
    """The JSON value of a schema dataclass; `parse` of it gives an equal object."""
    kind = type(value)
    if kind in _PLAIN:  # nearly everything is, and a log has tens of thousands of them
        return value
    if dataclasses.is_dataclass(kind):
        return {name: to_json(getattr(value, name)) for name in names_of(kind)}
    if isinstance(value, (list, tuple)):
        return [to_json(item) for item in value]
    if isinstance(value, dict):
        return {key: to_json(item) for key, item in value.items()}
    return value


def fields_of(cls: Type[Any]) -> Tuple[Tuple[dataclasses.Field[Any], Any], ...]:
    """Each field of a schema dataclass with its resolved type."""
    # Resolving evaluates every annotation, which is too slow to do for each event.
    if cls not in _FIELDS:
        hints = get_type_hints(cls)
        _FIELDS[cls] = tuple((field, hints[field.name]) for field in dataclasses.fields(cls))
    return _FIELDS[cls]


def names_of(cls: Type[Any]) -> Tuple[str, ...]:
    """The names of a schema dataclass's fields, in order."""
    if cls not in _NAMES:
        _NAMES[cls] = tuple(field.name for field in dataclasses.fields(cls))
    return _NAMES[cls]


def default_of(field: dataclasses.Field[Any]) -> Any:
    """A field's default as JSON, or dataclasses.MISSING where it is required."""
    if field.default is not dataclasses.MISSING:
        return to_json(field.default)
    if field.default_factory is not dataclasses.MISSING:
        return to_json(field.default_factory())
    return dataclasses.MISSING


def tag_of(cls: Type[Any]) -> str:
    """The field by which a member of a union is told: `kind`, or else `name`."""
    return "kind" if any(field.name == "kind" for field, _ in fields_of(cls)) else "name"


def kind_of(cls: Type[Any]) -> str:
    """The tag of a member of a union: the only value of that field."""
    hints = {field.name: hint for field, hint in fields_of(cls)}
    return cast(str, get_args(hints[tag_of(cls)])[0])
