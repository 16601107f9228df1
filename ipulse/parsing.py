"""From parsed JSON to a schema's dataclasses, with every problem's JSON pointer.

The limits are those of schema.py's fields.
"""

from __future__ import annotations

import dataclasses
from typing import (
    Any,
    Iterable,
    List,
    Literal,
    Sequence,
    Type,
    TypeVar,
    cast,
    get_args,
    get_origin,
)

from .errors import InvalidInput, Problem
from .scalars import (
    ABSENT,
    parse_choice,
    parse_integer,
    parse_number,
    parse_text,
    shown,
    wrong,
)
from .schema import CONTROL_CHARACTERS, MAX_KEY, UNIONS, default_of, fields_of, kind_of, tag_of
from .strict_json import escape

T = TypeVar("T")

MAX_PROBLEMS = 100  # told of one document: an answer must not outgrow what it answers
_NAMES = {bool: "true or false", int: "an integer", float: "a number", str: "text"}


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


def _parse_type(hint: Any, value: Any, at: str, limits: Any, found: List[Problem]) -> Any:
    if hint is Any:
        return value
    if dataclasses.is_dataclass(hint):
        return _parse_object(cast(Type[Any], hint), value, at, found)
    origin = get_origin(hint)
    if origin in UNIONS:
        return _parse_union(get_args(hint), value, at, limits, found)
    if origin is Literal:
        return parse_choice(get_args(hint), value, at, found)
    if origin in (list, tuple):
        return _parse_list(get_args(hint)[0], value, at, limits, found)
    if origin is dict:
        return _parse_map(get_args(hint)[1], value, at, limits, found)
    if hint is bool:
        if isinstance(value, bool):
            return value
        return wrong(at, "true or false", value, found)
    if hint is int:
        return parse_integer(value, at, limits, found)
    if hint is float:
        return parse_number(value, at, limits, found)
    if hint is str:
        return parse_text(value, at, limits, found)
    raise TypeError(f"a schema field cannot have the type {hint!r}")


def _parse_object(cls: Type[Any], value: Any, at: str, found: List[Problem]) -> Any:
    if not isinstance(value, dict):
        return wrong(at, "an object", value, found)
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
        return ABSENT
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
    return wrong(at, " or ".join([*wanted, *(["an object"] if objects else [])]), value, found)


def _parse_tagged(
    members: Sequence[Any], value: Any, at: str, limits: Any, found: List[Problem]
) -> Any:
    if not isinstance(value, dict):
        return wrong(at, "an object", value, found)
    if len(members) == 1:
        return _parse_object(members[0], value, at, found)
    tag = tag_of(members[0])
    by_kind = {kind_of(member): member for member in members}
    kind = value.get(tag, limits.get("untagged") or ABSENT)
    if kind is ABSENT:
        found.append(Problem(f"{at}/{tag}", "missing", f"one of {', '.join(by_kind)} is required"))
        return ABSENT
    if not isinstance(kind, str) or kind not in by_kind:
        return parse_choice(tuple(by_kind), kind, f"{at}/{tag}", found)
    return _parse_object(by_kind[kind], value, at, found)


def _parse_list(item: Any, value: Any, at: str, limits: Any, found: List[Problem]) -> Any:
    if not isinstance(value, list):
        return wrong(at, "a list", value, found)
    least, most = limits.get("min_items") or 0, limits.get("max_items")
    if len(value) < least or (most is not None and len(value) > most):
        span = f"{least} to {most}" if most is not None else f"at least {least}"
        found.append(Problem(at, "wrong_length", f"must have {span} items; got {len(value)}"))
        return ABSENT
    return tuple(
        _parse_type(item, element, f"{at}/{index}", limits, found)
        for index, element in enumerate(value)
    )


def _parse_map(item: Any, value: Any, at: str, limits: Any, found: List[Problem]) -> Any:
    if not isinstance(value, dict):
        return wrong(at, "an object", value, found)
    most = limits.get("max_items")
    if most is not None and len(value) > most:
        found.append(Problem(at, "wrong_length", f"must have at most {most} entries"))
        return ABSENT
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


def _place_of(at: str, key: Any) -> str:
    # YAML has keys that are not text, and a key may be as long as the document.
    return f"{at}/{escape(key[:100] if isinstance(key, str) else shown(key))}"
