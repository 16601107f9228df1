"""The base class of all models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import (
    BaseModel,
    ConfigDict,
    ModelWrapValidatorHandler,
    ValidationError,
    model_validator,
)
from typing_extensions import Self

from ipulse.models.messages import error_of, explained
from ipulse_core.errors import Problem


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
