"""The base class of all models, and validation of parsed JSON with every problem and its place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import is_dataclass
from functools import cache
from typing import Annotated, Any, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    ModelWrapValidatorHandler,
    TypeAdapter,
    ValidationError,
    model_validator,
)
from typing_extensions import Self

from ipulse.models.fields import FromObject
from ipulse.models.messages import error_of, explained, problems_of
from ipulse_core.errors import InvalidInput, Problem

T = TypeVar("T")


class StrictModel(BaseModel):
    """A frozen object; its fields are checked when it is made.

    Override `problems` for rules between fields. It is called once the fields themselves are valid.
    """

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)

    def problems(self) -> Iterator[Problem]:
        """Yields what is wrong between the fields; pointers begin at this object."""
        yield from ()

    @model_validator(mode="wrap")
    @classmethod
    def _check(cls, value: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            model = handler(value)
        except ValidationError as error:
            raise explained(error, fields=tuple(cls.model_fields)) from None
        problems = tuple(model.problems())
        if problems:
            raise error_of(problems, cls.__name__, value)
        return model


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
        result: T = adapter_of(kind).validate_python(value)  # type: ignore[arg-type] # hashable
    except ValidationError as found:
        raise error(problems_of(found.errors(include_url=False))) from None
    return result
