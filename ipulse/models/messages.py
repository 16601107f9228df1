"""Pydantic's errors in the project's words: a stable code, a pointer and a message.

A code is part of the HTTP API; a message is for people and may change.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from ipulse_core.errors import Problem
from ipulse_core.limits import CONTROL_CHARACTERS, MAX_INTEGER
from ipulse_core.strict_json import escape, pointer_keys

MAX_PROBLEMS = 100  # listed for one document: an answer must not outgrow the question

_TOO_MANY = "too_many_problems"
_OBJECT, _LIST, _TEXT, _INTEGER = "an object", "a list", "text", "an integer"
_WANTED = {
    "bool_type": "true or false",
    "dataclass_type": _OBJECT,
    "dict_type": _OBJECT,
    "float_type": "a number",
    "int_type": _INTEGER,
    "list_type": _LIST,
    "mapping_type": _OBJECT,
    "model_attributes_type": _OBJECT,
    "model_type": _OBJECT,
    "none_required": "null",
    "string_type": _TEXT,
    "tuple_type": _LIST,
}
_BOUNDS = {
    "greater_than": ("gt", "{value} must be greater than {bound}"),
    "greater_than_equal": ("ge", "{value} is below the minimum of {bound}"),
    "less_than": ("lt", "{value} must be less than {bound}"),
    "less_than_equal": ("le", "{value} is above the maximum of {bound}"),
}


def explained(
    error: ValidationError,
    fields: Sequence[str] = (),
    skip: int = 0,
    offset: int = 0,
    more: int = 0,
    absent: Callable[[str, Any], str | None] = lambda name, value: None,
) -> ValidationError:
    """Returns the same errors with our codes and messages, and beyond MAX_PROBLEMS their number.

    Each level of a document calls it, so that more errors would cost time at every level.

    Args:
        error: What pydantic raised; errors that are explained already stay as they are.
        fields: Names of the fields of the object that was validated.
        skip: How many leading parts of each location to drop.
        offset: What to add to the index that each location begins with.
        more: The number of further errors, which are only counted.
        absent: Returns why that object lacks a field with this name and value, if that is known.
    """
    lines: list[InitErrorDetails] = []
    for line in error.errors(include_url=False):
        if _is_only_consequence(line):
            continue
        if line["type"] == _TOO_MANY or len(lines) == MAX_PROBLEMS:
            more += line.get("ctx", {}).get("more", 1)
            continue
        code, detail = _code_and_detail(line, fields)
        if code == "unknown_field":
            detail = absent(str(line["loc"][-1]), line["input"]) or detail
        location = line["loc"][skip:]
        if offset and location and isinstance(location[0], int):
            location = (location[0] + offset, *location[1:])
        if line["loc"][-1:] == ("[key]",) and code == "bad_key":
            location = location[:-1]
        lines.append(_line(code, detail, location, line["input"]))
    if more:
        kind = PydanticCustomError(_TOO_MANY, "{more} more", {"more": more})
        lines.append(InitErrorDetails(type=kind, loc=(), input=None))
    return ValidationError.from_exception_data(error.title, lines)


def error_of(problems: Iterable[Problem], title: str, value: Any) -> ValidationError:
    """Returns the pydantic error that reports these problems."""
    lines = [
        _line(problem.code, problem.detail, _location(problem.pointer), value)
        for problem in problems
    ]
    return ValidationError.from_exception_data(title, lines)


def moved(error: ValidationError, place: Callable[[str], str]) -> ValidationError:
    """Returns an explained error with other places: `place` maps JSON pointers."""
    lines = [
        InitErrorDetails(
            type=PydanticCustomError(line["type"], "{detail}", line["ctx"])
            if "detail" in line.get("ctx", {})
            else PydanticCustomError(_TOO_MANY, "{more} more", line.get("ctx", {})),
            loc=_location(place("".join(f"/{escape(str(part))}" for part in line["loc"]))),
            input=line["input"],
        )
        for line in error.errors(include_url=False)
    ]
    return ValidationError.from_exception_data(error.title, lines)


def problems_of(errors: Iterable[ErrorDetails], more: int = 0) -> list[Problem]:
    """Returns pydantic's errors as problems, at most MAX_PROBLEMS and one with the number left.

    `more` is the number of further errors, which are only counted.
    """
    problems: list[Problem] = []
    for line in errors:
        if line["type"] == _TOO_MANY or len(problems) == MAX_PROBLEMS:
            more += line.get("ctx", {}).get("more", 1)
        else:
            problems.append(_problem_of(line))
    if more:
        problems.append(Problem("", _TOO_MANY, f"{more} more problems are not listed"))
    return problems


def _problem_of(line: ErrorDetails) -> Problem:
    """Returns one of pydantic's errors as a problem with a JSON pointer."""
    code, detail = _code_and_detail(line, ())
    # A key may be as long as the document.
    tokens = [escape(str(part)[:100]) for part in line["loc"]]
    return Problem("".join(f"/{token}" for token in tokens), code, detail)


def shown(value: Any) -> str:
    """Returns a value as a message may quote it."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    if isinstance(value, dict):
        return _OBJECT
    if isinstance(value, (list, tuple)):
        return _LIST
    if isinstance(value, int) and abs(value) > MAX_INTEGER:
        return "a huge integer"  # Python may refuse to write its digits
    written = repr(value[:40] if isinstance(value, str) else value)
    return written if len(written) <= 60 else written[:60] + "..."


def _code_and_detail(line: ErrorDetails, fields: Sequence[str]) -> tuple[str, str]:
    kind, value, context = line["type"], line["input"], line.get("ctx", {})
    if "detail" in context:  # an error that is explained already
        return kind, str(context["detail"])
    is_huge = isinstance(value, int) and not isinstance(value, bool)
    if kind == "int_parsing_size" or (kind == "float_type" and is_huge):
        return "out_of_range", "a huge integer is out of range"
    if kind in _WANTED:
        return "wrong_type", f"must be {_WANTED[kind]}; got {shown(value)}"
    if kind in _BOUNDS:
        name, text = _BOUNDS[kind]
        return "out_of_range", text.format(value=shown(value), bound=_number(context[name]))
    if kind in ("extra_forbidden", "invalid_key", "unexpected_keyword_argument"):
        return "unknown_field", _no_such_field(str(line["loc"][-1]), fields)
    if kind == "literal_error":
        expected = str(context["expected"]).replace("'", "")
        return "not_a_choice", f"must be {expected}; got {shown(value)}"
    if kind in ("missing", "missing_argument"):
        return "missing", "this field is required"
    if kind == "too_short":
        return "wrong_length", f"must have at least {context['min_length']} items; got {len(value)}"
    if kind == "too_long":
        return "wrong_length", f"must have at most {context['max_length']} items; got {len(value)}"
    if kind == "finite_number":
        return "not_finite", "must be a finite number"
    return _of_text(line)


def _no_such_field(name: str, fields: Sequence[str]) -> str:
    if not fields:
        return "there is no such field"
    listed = f"he fields here are {', '.join(fields)}"
    near = difflib.get_close_matches(name[:60], fields, n=1)
    if near:
        return f"there is no such field; did you mean {near[0]}? T{listed}"
    return f"there is no such field; t{listed}"


def _of_text(line: ErrorDetails) -> tuple[str, str]:
    kind, value, context = line["type"], line["input"], line.get("ctx", {})
    if kind == "string_too_long":
        return "too_long", f"must have at most {context['max_length']} characters; got {len(value)}"
    if kind == "string_too_short":
        return "too_short", f"must have at least {context['min_length']} characters"
    if kind in ("string_unicode", "string_pattern_mismatch"):
        if CONTROL_CHARACTERS.search(value):
            return "control_character", "must not have control characters"
        return "wrong_form", f"must match {context['pattern']}"
    return kind, line["msg"]


def _is_only_consequence(line: ErrorDetails) -> bool:
    # Pydantic counts the valid items of a list, and reports the invalid ones anyway.
    least = line.get("ctx", {}).get("min_length")  # absent where the problem is explained already
    return line["type"] == "too_short" and least is not None and len(line["input"]) >= least


def _number(bound: float) -> str:
    return str(int(bound)) if bound == int(bound) else f"{bound:g}"


def _line(code: str, detail: str, location: tuple[int | str, ...], value: Any) -> InitErrorDetails:
    kind = PydanticCustomError(code, "{detail}", {"detail": detail})
    return InitErrorDetails(type=kind, loc=location, input=value)


def _location(pointer: str) -> tuple[int | str, ...]:
    return tuple(pointer_keys(pointer))
