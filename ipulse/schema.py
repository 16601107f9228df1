"""Frozen dataclasses as the schema: what a field may hold is written beside the field, once.

`described` attaches limits and a sentence to a field. From those come the parser (every problem
with its JSON pointer), the JSON Schema in the OpenAPI document (json_schema.py), and the tables in
docs/spec.md.
Standard library only, because the same classes are read by a runner on Python 3.8.
"""

from __future__ import annotations

import dataclasses
import math
import operator
import re
import types
from typing import (
    Any,
    Dict,
    Iterable,
    List,
    Literal,
    Optional,
    Sequence,
    Tuple,
    Type,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from .errors import InvalidInput, Problem
from .strict_json import escape

T = TypeVar("T")

MAX_INTEGER = 2**53 - 1  # the largest integer that every JSON reader keeps exactly
MAX_TEXT = 512  # characters, where a field says nothing else
MAX_PROBLEMS = 100  # told of one document: an answer must not outgrow what it answers
MAX_KEY = 64  # characters of a key in a map

# C0 and C1 but tab and line ends: what a terminal might take for a command. And surrogates,
# which are no characters at all and which no file can hold.
CONTROL_CHARACTERS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_ABSENT = object()
_FIELDS: Dict[Type[Any], Tuple[Tuple[dataclasses.Field[Any], Any], ...]] = {}
_NAMES = {bool: "true or false", int: "an integer", float: "a number", str: "text"}
UNIONS = (Union, getattr(types, "UnionType", Union))  # `X | Y` has a type of its own since 3.10


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


def parse(cls: Type[T], value: Any, error: Type[InvalidInput] = InvalidInput) -> T:
    """Builds `cls` from parsed JSON.

    Raises `error` with *every* problem found, not only the first; beyond MAX_PROBLEMS they are
    counted. A class may define `problems(self)`, yielding what is wrong between its fields; it
    is asked once its own fields are sound.
    """
    return cast(T, parse_type(cls, value, error))


def parse_type(hint: Any, value: Any, error: Type[InvalidInput] = InvalidInput) -> Any:
    """As `parse`, for any type that a field may have, such as a union of dataclasses."""
    found: List[Problem] = []
    result = _parse_type(hint, value, "", {}, found)
    if len(found) > MAX_PROBLEMS:
        more = f"{len(found) - MAX_PROBLEMS} more problems are not listed"
        found[MAX_PROBLEMS:] = [Problem("", "too_many_problems", more)]
    if found:
        raise error(found)
    return result


def to_json(value: Any) -> Any:
    """The JSON value of a schema dataclass; `parse` of it gives an equal object."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_json(getattr(value, f.name)) for f in dataclasses.fields(value)}
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


def default_of(field: dataclasses.Field[Any]) -> Any:
    """A field's default as JSON, or dataclasses.MISSING where it is required."""
    if field.default is not dataclasses.MISSING:
        return to_json(field.default)
    if field.default_factory is not dataclasses.MISSING:
        return to_json(field.default_factory())
    return dataclasses.MISSING


def _parse_type(hint: Any, value: Any, at: str, limits: Any, found: List[Problem]) -> Any:
    if hint is Any:
        return value
    if dataclasses.is_dataclass(hint):
        return _parse_object(cast(Type[Any], hint), value, at, found)
    origin = get_origin(hint)
    if origin in UNIONS:
        return _parse_union(get_args(hint), value, at, limits, found)
    if origin is Literal:
        return _parse_choice(get_args(hint), value, at, found)
    if origin in (list, tuple):
        return _parse_list(get_args(hint)[0], value, at, limits, found)
    if origin is dict:
        return _parse_map(get_args(hint)[1], value, at, limits, found)
    if hint is bool:
        if isinstance(value, bool):
            return value
        return _wrong(at, "true or false", value, found)
    if hint is int:
        return _parse_integer(value, at, limits, found)
    if hint is float:
        return _parse_number(value, at, limits, found)
    if hint is str:
        return _parse_text(value, at, limits, found)
    raise TypeError(f"a schema field cannot have the type {hint!r}")


def _parse_object(cls: Type[Any], value: Any, at: str, found: List[Problem]) -> Any:
    if not isinstance(value, dict):
        return _wrong(at, "an object", value, found)
    before = len(found)
    known = {}
    for field, hint in fields_of(cls):
        if field.name in value:
            place = f"{at}/{field.name}"
            known[field.name] = _parse_type(hint, value[field.name], place, field.metadata, found)
        elif default_of(field) is dataclasses.MISSING:
            found.append(Problem(f"{at}/{field.name}", "missing", "this field is required"))
    names = [field.name for field in dataclasses.fields(cls)]
    for key in value:
        if key not in names:
            detail = f"no such field; the fields here are {', '.join(names)}"
            found.append(Problem(_place_of(at, key), "unknown_field", detail))
    if len(found) > before:
        return _ABSENT
    result = cls(**known)
    between_fields: Iterable[Problem] = result.problems() if hasattr(result, "problems") else ()
    for problem in between_fields:
        found.append(dataclasses.replace(problem, pointer=at + problem.pointer))
    return result


def _parse_union(
    members: Sequence[Any], value: Any, at: str, limits: Any, found: List[Problem]
) -> Any:
    if type(None) in members:
        if value is None:
            return None
        members = [member for member in members if member is not type(None)]
    objects = [member for member in members if dataclasses.is_dataclass(member)]
    lists = [member for member in members if get_origin(member) is tuple]
    simple = [member for member in members if member not in objects and member not in lists]
    # What a union may hold is told apart by its JSON type, and objects by their tag.
    if objects and (isinstance(value, dict) or len(objects) == len(members)):
        return _parse_tagged(objects, value, at, limits, found)
    if lists and (isinstance(value, list) or len(lists) == len(members)):
        return _parse_type(lists[0], value, at, limits, found)
    if simple and (len(simple) == len(members) or not isinstance(value, (dict, list))):
        return _parse_type(simple[0], value, at, limits, found)
    wanted = [*(_NAMES[member] for member in simple), *(["a list"] if lists else [])]
    return _wrong(at, " or ".join([*wanted, *(["an object"] if objects else [])]), value, found)


def _parse_tagged(
    members: Sequence[Any], value: Any, at: str, limits: Any, found: List[Problem]
) -> Any:
    if not isinstance(value, dict):
        return _wrong(at, "an object", value, found)
    if len(members) == 1:
        return _parse_object(members[0], value, at, found)
    tag = tag_of(members[0])
    by_kind = {kind_of(member): member for member in members}
    kind = value.get(tag, limits.get("untagged") or _ABSENT)
    if kind is _ABSENT:
        found.append(Problem(f"{at}/{tag}", "missing", f"one of {', '.join(by_kind)} is required"))
        return _ABSENT
    if not isinstance(kind, str) or kind not in by_kind:
        return _parse_choice(tuple(by_kind), kind, f"{at}/{tag}", found)
    return _parse_object(by_kind[kind], value, at, found)


def tag_of(cls: Type[Any]) -> str:
    """The field by which a member of a union is told: `kind`, or else `name`."""
    return "kind" if any(field.name == "kind" for field, _ in fields_of(cls)) else "name"


def kind_of(cls: Type[Any]) -> str:
    """The tag of a member of a union: the only value of that field."""
    hints = {field.name: hint for field, hint in fields_of(cls)}
    return cast(str, get_args(hints[tag_of(cls)])[0])


def _parse_choice(choices: Sequence[Any], value: Any, at: str, found: List[Problem]) -> Any:
    # True == 1 in Python, so the type is compared too.
    for choice in choices:
        if type(choice) is type(value) and choice == value:
            return choice
    listed = ", ".join(str(choice) for choice in choices)
    found.append(Problem(at, "not_a_choice", f"must be one of {listed}; got {_shown(value)}"))
    return _ABSENT


def _parse_list(item: Any, value: Any, at: str, limits: Any, found: List[Problem]) -> Any:
    if not isinstance(value, list):
        return _wrong(at, "a list", value, found)
    least, most = limits.get("min_items") or 0, limits.get("max_items")
    if len(value) < least or (most is not None and len(value) > most):
        span = f"{least} to {most}" if most is not None else f"at least {least}"
        found.append(Problem(at, "wrong_length", f"must have {span} items; got {len(value)}"))
        return _ABSENT
    return tuple(
        _parse_type(item, element, f"{at}/{index}", limits, found)
        for index, element in enumerate(value)
    )


def _parse_map(item: Any, value: Any, at: str, limits: Any, found: List[Problem]) -> Any:
    if not isinstance(value, dict):
        return _wrong(at, "an object", value, found)
    most = limits.get("max_items")
    if most is not None and len(value) > most:
        found.append(Problem(at, "wrong_length", f"must have at most {most} entries"))
        return _ABSENT
    result = {}
    for key, element in value.items():
        place = _place_of(at, key)
        if (
            not isinstance(key, str)
            or not 0 < len(key) <= MAX_KEY
            or CONTROL_CHARACTERS.search(key)
        ):
            detail = f"keys are text of 1 to {MAX_KEY} printable characters"
            found.append(Problem(place, "bad_key", detail))
            continue
        result[key] = _parse_type(item, element, place, limits, found)
    return result


def _parse_integer(value: Any, at: str, limits: Any, found: List[Problem]) -> Any:
    if isinstance(value, bool) or not isinstance(value, int):
        return _wrong(at, "an integer", value, found)
    if abs(value) > MAX_INTEGER:
        found.append(Problem(at, "out_of_range", f"must lie within ±{MAX_INTEGER}"))
        return _ABSENT
    return _within(value, at, limits, found)


def _parse_number(value: Any, at: str, limits: Any, found: List[Problem]) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return _wrong(at, "a number", value, found)
    if isinstance(value, int) and abs(value) > MAX_INTEGER:
        found.append(Problem(at, "out_of_range", f"must lie within ±{MAX_INTEGER}"))
        return _ABSENT
    if not math.isfinite(value):
        found.append(Problem(at, "not_finite", "must be a finite number"))
        return _ABSENT
    return _within(float(value), at, limits, found)


def _within(value: Any, at: str, limits: Any, found: List[Problem]) -> Any:
    tests = (
        ("ge", "at least", operator.ge),
        ("gt", "greater than", operator.gt),
        ("le", "at most", operator.le),
        ("lt", "less than", operator.lt),
    )
    wrong = [
        f"{words} {limits[name]}"
        for name, words, holds in tests
        if limits.get(name) is not None and not holds(value, limits[name])
    ]
    if wrong:
        found.append(Problem(at, "out_of_range", f"must be {' and '.join(wrong)}; got {value}"))
        return _ABSENT
    return value


def _parse_text(value: Any, at: str, limits: Any, found: List[Problem]) -> Any:
    if not isinstance(value, str):
        return _wrong(at, "text", value, found)
    most = limits.get("max_length") or MAX_TEXT
    if len(value) > most:
        found.append(Problem(at, "too_long", f"must have at most {most} characters"))
    elif CONTROL_CHARACTERS.search(value):
        found.append(Problem(at, "control_character", "must not have control characters"))
    elif limits.get("pattern") and not re.fullmatch(limits["pattern"], value):
        found.append(Problem(at, "wrong_form", f"must match {limits['pattern']}"))
    else:
        return value
    return _ABSENT


def _wrong(at: str, wanted: str, value: Any, found: List[Problem]) -> Any:
    found.append(Problem(at, "wrong_type", f"must be {wanted}; got {_shown(value)}"))
    return _ABSENT


def _place_of(at: str, key: Any) -> str:
    # YAML has keys that are not text, and a key may be as long as the document.
    return f"{at}/{escape(key[:100] if isinstance(key, str) else _shown(key))}"


def _shown(value: Any) -> str:
    names = {dict: "an object", list: "a list", bool: "a boolean", type(None): "null"}
    if type(value) in names:
        return names[type(value)]
    if isinstance(value, int) and abs(value) > MAX_INTEGER:
        return "a huge integer"  # whose digits Python may refuse to write
    shown = repr(value[:40] if isinstance(value, str) else value)
    return shown if len(shown) <= 60 else shown[:60] + "..."
