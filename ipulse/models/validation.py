"""Validation of parsed JSON, with every problem and its place."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import is_dataclass
from functools import cache
from typing import Annotated, Any, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from ipulse.models.fields import FromObject
from ipulse.models.messages import problem_of
from ipulse_core.errors import InvalidInput, Problem

T = TypeVar("T")
MAX_PROBLEMS = 100  # listed for one document: an answer must not outgrow the question


@cache
def adapter_of(kind: Any) -> TypeAdapter[Any]:
    """Returns pydantic's validator of a type, built once."""
    return TypeAdapter(Annotated[kind, FromObject()] if is_dataclass(kind) else kind)


def validate(kind: type[T], value: Any, error: type[InvalidInput] = InvalidInput) -> T:
    """Returns the parsed JSON `value` as an object of this type.

    Raises:
        error: With every problem and its JSON pointer; beyond MAX_PROBLEMS they are counted.
    """
    try:
        result: T = adapter_of(kind).validate_python(value)  # type: ignore[arg-type]
    except ValidationError as found:
        raise error(problems_of(found.errors(include_url=False))) from None
    return result


def problems_of(errors: Iterable[ErrorDetails]) -> list[Problem]:
    """Returns pydantic's errors as problems, at most MAX_PROBLEMS and one with the number left."""
    problems = [problem_of(line) for line in errors]
    if len(problems) > MAX_PROBLEMS:
        more = f"{len(problems) - MAX_PROBLEMS} more problems are not listed"
        problems[MAX_PROBLEMS:] = [Problem("", "too_many_problems", more)]
    return problems
