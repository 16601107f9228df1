"""From parsed JSON to a schema's dataclasses, with every problem's JSON pointer.

The limits are those of schema.py's fields.
"""

from __future__ import annotations

import dataclasses
from functools import lru_cache, partial
from typing import (
    Any,
    Callable,
    Dict,
    Iterable,
    List,
    Literal,
    Tuple,
    Type,
    TypeVar,
    cast,
    get_args,
    get_origin,
)

from ipulse_core.errors import InvalidInput, Problem
from ipulse_core.scalars import (
    ABSENT,
    are_texts,
    parse_choice,
    parse_integer,
    parse_number,
    parse_text,
    shown,
    wrong,
)
from ipulse_core.schema import (
    CONTROL_CHARACTERS,
    MAX_KEY,
    UNIONS,
    default_of,
    fields_of,
    kind_of,
    names_of,
    tag_of,
)
from ipulse_core.strict_json import escape

T = TypeVar("T")
# Of a value, its place, the limits of the field that it is in, and the problems found so far.
Parser = Callable[[Any, str, Any, List[Problem]], Any]
# Of each field of a class: its name, what reads it, its limits, and whether it must be there.
Plan = Tuple[Tuple[str, Parser, Any, bool], ...]

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
    result = _parser_of(hint)(value, "", {}, found)
    if len(found) > MAX_PROBLEMS:
        more = f"{len(found) - MAX_PROBLEMS} more problems are not listed"
        found[MAX_PROBLEMS:] = [Problem("", "too_many_problems", more)]
    if found:
        raise error(found)
    return result


def _parse_any(value: Any, at: str, limits: Any, found: List[Problem]) -> Any:
    return value


def _parse_bool(value: Any, at: str, limits: Any, found: List[Problem]) -> Any:
    return value if isinstance(value, bool) else wrong(at, "true or false", value, found)


_PLANS: Dict[Type[Any], Plan] = {}
_SIMPLE: Dict[Any, Parser] = {
    Any: _parse_any,
    bool: _parse_bool,
    int: parse_integer,
    float: parse_number,
    str: parse_text,
}


def _parser_of(hint: Any) -> Parser:
    """What reads values of this type. Looked up once for a field, and not for each value."""
    if hint in _SIMPLE:
        return _SIMPLE[hint]
    if dataclasses.is_dataclass(hint):
        return partial(_parse_object, cast(Type[Any], hint))
    origin = get_origin(hint)
    if origin in UNIONS:
        return _parser_of_union(get_args(hint))
    if origin is Literal:
        return partial(_parse_literal, get_args(hint))
    if origin in (list, tuple):
        return partial(_parse_list, _parser_of(get_args(hint)[0]))
    if origin is dict:
        return partial(_parse_map, _parser_of(get_args(hint)[1]))
    raise TypeError(f"a schema field cannot have the type {hint!r}")


def _plan_of(cls: Type[Any]) -> Plan:
    if cls not in _PLANS:
        _PLANS[cls] = tuple(
            (field.name, _parser_of(hint), field.metadata, default_of(field) is dataclasses.MISSING)
            for field, hint in fields_of(cls)
        )
    return _PLANS[cls]


def _parse_literal(
    choices: Tuple[Any, ...], value: Any, at: str, limits: Any, found: List[Problem]
) -> Any:
    return parse_choice(choices, value, at, found)


def _parse_object(cls: Type[Any], value: Any, at: str, limits: Any, found: List[Problem]) -> Any:
    if not isinstance(value, dict):
        return wrong(at, "an object", value, found)
    before = len(found)
    known = {}
    for name, parser, its_limits, is_required in _plan_of(cls):
        if name in value:
            known[name] = parser(value[name], f"{at}/{name}", its_limits, found)
        elif is_required:
            found.append(Problem(f"{at}/{name}", "missing", "this field is required"))
    if len(known) < len(value):
        names = names_of(cls)
        for key in value:
            if key not in names:
                detail = f"no such field; the fields here are {', '.join(names)}"
                found.append(Problem(_place_of(at, key), "unknown_field", detail))
    if len(found) > before:
        return ABSENT
    result = cls(**known)
    between_fields: Iterable[Problem] = result.problems() if hasattr(cls, "problems") else ()
    for problem in between_fields:
        found.append(dataclasses.replace(problem, pointer=at + problem.pointer))
    return result


def _parser_of_union(members: Tuple[Any, ...]) -> Parser:
    """What a union may hold is told apart by its JSON type, and objects by their tag."""
    may_be_null = type(None) in members
    members = tuple(member for member in members if member is not type(None))
    objects = tuple(member for member in members if dataclasses.is_dataclass(member))
    lists = tuple(member for member in members if get_origin(member) is tuple)
    simple = tuple(member for member in members if member not in objects + lists)
    parse_tagged = partial(_parse_tagged, objects)
    parse_list = _parser_of(lists[0]) if lists else _parse_any
    parse_simple = _parser_of(simple[0]) if simple else _parse_any

    def parse_union(value: Any, at: str, limits: Any, found: List[Problem]) -> Any:
        if value is None and may_be_null:
            return None
        if objects and (isinstance(value, dict) or len(objects) == len(members)):
            return parse_tagged(value, at, limits, found)
        if lists and (isinstance(value, list) or len(lists) == len(members)):
            return parse_list(value, at, limits, found)
        if simple and (len(simple) == len(members) or not isinstance(value, (dict, list))):
            return parse_simple(value, at, limits, found)
        wanted = [*(_NAMES[member] for member in simple), *(["a list"] if lists else [])]
        return wrong(at, " or ".join([*wanted, *(["an object"] if objects else [])]), value, found)

    return parse_union


@lru_cache(maxsize=None)
def _by_kind(members: Tuple[Any, ...]) -> Tuple[str, Dict[str, Any]]:
    """The tag that tells them apart, and each of them by it."""
    return tag_of(members[0]), {kind_of(member): member for member in members}


def _parse_tagged(
    members: Tuple[Any, ...], value: Any, at: str, limits: Any, found: List[Problem]
) -> Any:
    if not isinstance(value, dict):
        return wrong(at, "an object", value, found)
    if len(members) == 1:
        return _parse_object(members[0], value, at, limits, found)
    tag, by_kind = _by_kind(members)
    kind = value.get(tag, limits.get("untagged") or ABSENT)
    if kind is ABSENT:
        found.append(Problem(f"{at}/{tag}", "missing", f"one of {', '.join(by_kind)} is required"))
        return ABSENT
    if not isinstance(kind, str) or kind not in by_kind:
        return parse_choice(tuple(by_kind), kind, f"{at}/{tag}", found)
    return _parse_object(by_kind[kind], value, at, limits, found)


def _parse_list(item: Parser, value: Any, at: str, limits: Any, found: List[Problem]) -> Any:
    if not isinstance(value, list):
        return wrong(at, "a list", value, found)
    least, most = limits.get("min_items") or 0, limits.get("max_items")
    if len(value) < least or (most is not None and len(value) > most):
        span = f"{least} to {most}" if most is not None else f"at least {least}"
        found.append(Problem(at, "wrong_length", f"must have {span} items; got {len(value)}"))
        return ABSENT
    if item is parse_text and are_texts(value, limits):  # a job may print 10,000 lines at once
        return tuple(value)
    return tuple(
        item(element, f"{at}/{index}", limits, found) for index, element in enumerate(value)
    )


def _parse_map(item: Parser, value: Any, at: str, limits: Any, found: List[Problem]) -> Any:
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
        result[key] = item(element, place, limits, found)
    return result


def _place_of(at: str, key: Any) -> str:
    # YAML has keys that are not text, and a key may be as long as the document.
    return f"{at}/{escape(key[:100] if isinstance(key, str) else shown(key))}"
