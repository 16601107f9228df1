"""The base class of all models, and validation of parsed JSON with every problem and its place."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Annotated, Any, TypeVar, get_args, get_origin

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
from ipulse.models.messages import MAX_PROBLEMS, error_of, explained, problems_of
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

    @classmethod
    def absent_field(cls, name: str, value: Any) -> str | None:
        """Returns why this object lacks a field that others like it have, and what to do."""
        return None

    @model_validator(mode="wrap")
    @classmethod
    def _check(cls, value: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        more = 0
        if isinstance(value, dict) and len(value) > len(cls.model_fields) + MAX_PROBLEMS:
            names = {each.alias or name for name, each in cls.model_fields.items()}
            value, more = _with_few_unknown(value, names | {*cls.model_fields})
        try:
            model = handler(value)
        except ValidationError as error:
            fields = tuple(cls.model_fields)
            raise explained(error, fields, more=more, absent=cls.absent_field) from None
        problems = tuple(model.problems())
        if problems:
            raise error_of(problems, cls.__name__, value)
        return model


def _with_few_unknown(value: dict[Any, Any], known: Collection[str]) -> tuple[dict[Any, Any], int]:
    """Returns an object with MAX_PROBLEMS of its unknown fields, and the number of the others.

    Pydantic makes an error of each, and a document has room for a million.
    """
    kept, unknown = {}, 0
    for name, item in value.items():
        if name not in known:
            unknown += 1
            if unknown > MAX_PROBLEMS:
                continue
        kept[name] = item
    return kept, max(0, unknown - MAX_PROBLEMS)


@cache
def adapter_of(kind: Any) -> TypeAdapter[Any]:
    """Returns pydantic's validator of a type, built once."""
    return TypeAdapter(Annotated[kind, FromObject()] if is_dataclass(kind) else kind)


def validate(kind: type[T], value: Any, error: type[InvalidInput] = InvalidInput) -> T:
    """Returns the parsed JSON `value` as an object of this type.

    Raises:
        error: With every problem and its JSON pointer; beyond MAX_PROBLEMS they are counted.
    """
    more = 0
    plain = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    if is_dataclass(plain) and isinstance(value, dict):  # models do so themselves
        value, more = _with_few_unknown(value, {each.name for each in fields(plain)})
    try:
        result: T = adapter_of(kind).validate_python(value)  # type: ignore[arg-type] # hashable
    except ValidationError as found:
        raise error(problems_of(found.errors(include_url=False), more)) from None
    return result
