"""Validation of parsed JSON, with every problem and its place."""

from __future__ import annotations

from dataclasses import is_dataclass
from functools import cache
from typing import Annotated, Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from ipulse.models.fields import FromObject
from ipulse.models.messages import problems_of
from ipulse_core.errors import InvalidInput

T = TypeVar("T")


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
