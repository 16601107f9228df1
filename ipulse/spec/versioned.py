"""The base of specs: they are checked in the form of version 1, and may be written in version 2."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ModelWrapValidatorHandler, ValidationError, model_validator
from typing_extensions import Self

from ipulse.models import ExactInteger, Field, StrictModel, error_of, moved, problems_of
from ipulse_core.errors import Problem
from ipulse_core.registry.versions import NEWEST, is_newest, lowered

Version = Annotated[
    Literal[1],
    ExactInteger,
    Field(description="Version of this schema. Version 2 is accepted, too, and returned as 1."),
]


class VersionedSpec(StrictModel):
    """A spec of which version 2 is accepted, too; errors are at the places that were written."""

    @model_validator(mode="wrap")
    @classmethod
    def _lower(cls, value: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        version = value.get("version") if isinstance(value, dict) else None
        if type(version) is int and 2 < version < 100:
            detail = f"must be 1 or {NEWEST}; got {version}"
            raise error_of([Problem("/version", "not_a_choice", detail)], cls.__name__, value)
        if not is_newest(value):
            return handler(value)
        found = lowered(value)
        try:
            model = handler(found.document)
        except ValidationError as error:
            placed = moved(error, found.pointer)
            if not found.problems:
                raise placed from None
            # A layer that is not understood makes the rest of the network look wrong.
            rest = [
                problem
                for problem in problems_of(placed.errors(include_url=False))
                if not problem.pointer.startswith("/network")
            ]
            raise error_of([*found.problems, *rest], cls.__name__, value) from None
        if found.problems:
            raise error_of(found.problems, cls.__name__, value)
        return model
