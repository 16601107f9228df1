"""Unions of which a value itself says which member it is.

Only the problems of that member are reported, at the value's own place: pydantic alone would put
the name of the member into the location.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, is_dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, Field, GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationError
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from ipulse.models.fields import FromObject
from ipulse.models.messages import error_of, explained, shown
from ipulse_core.errors import Problem

_NAMES = {int: "an integer", float: "a number", str: "text"}


@dataclass(frozen=True)
class ByKind:
    """Selects the class of an object by the value of its tag, a Literal field of each class.

    Attributes:
        default: The value that is meant where the tag is absent; without one it is required.
        tag: The name of the field.
        is_named: Whether the JSON Schema names the tag as its discriminator, which makes generated
            clients require it. Without, a client may leave it out for the default.
        read_also: Returns a model that members are read from, too, for the JSON Schema.
    """

    default: str | None = None
    tag: str = "kind"
    is_named: bool = True
    read_also: Callable[[], type[BaseModel]] | None = None

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        members = get_args(source)
        kinds = tuple(_kind_of(member, self.tag) for member in members)
        readable = tuple(
            Annotated[member, FromObject()] if is_dataclass(member) else member
            for member in members
        )
        # Made at run time, which type checkers cannot follow.
        union: Any = Annotated[Union[readable], Field(discriminator=self.tag)]  # noqa: UP007
        inner = handler.generate_schema(union)

        def select(value: Any, validate: Callable[[Any], Any]) -> Any:
            if isinstance(value, dict):
                if self.default is not None and self.tag not in value:
                    value = {self.tag: self.default, **value}
                problem = self._problem_of(value, kinds)
                if problem is not None:
                    raise error_of([problem], "kind", value)
            return _without_tag(value, validate)

        return core_schema.no_info_wrap_validator_function(select, inner)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        document = handler(schema)
        members = tuple(document["discriminator"]["mapping"].items())
        document["oneOf"] = [
            {"$ref": place} if kind == self.default else {"$ref": place, "required": [self.tag]}
            for kind, place in members
        ]
        if not self.is_named:
            del document["discriminator"]
            document["oneOf"] = [{"$ref": place} for _, place in members]
        if self.read_also is not None and handler.mode == "validation":
            # Within a schema of its own, so that the model becomes a named definition.
            also = core_schema.definitions_schema(self.read_also().__pydantic_core_schema__, [])
            document["oneOf"].append(handler(also))
        return document

    def _problem_of(self, value: dict[Any, Any], kinds: tuple[str, ...]) -> Problem | None:
        listed = ", ".join(kinds)
        if self.tag not in value:
            return Problem(f"/{self.tag}", "missing", f"one of {listed} is required")
        kind = value[self.tag]
        if isinstance(kind, str) and kind in kinds:
            return None
        return Problem(
            f"/{self.tag}", "not_a_choice", f"must be one of {listed}; got {shown(kind)}"
        )


@dataclass(frozen=True)
class ByShape:
    """Selects the member by the JSON type of the value: an object, a list, text, or a number."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        members = {_shape_of_type(member): member for member in get_args(source)}
        wanted = " or ".join(_name_of(member) for member in members.values())
        choices = {name: handler.generate_schema(member) for name, member in members.items()}

        def shape(value: Any) -> str:
            found = _shape(value)
            return found if found != "text" or found in members else "scalar"

        inner = core_schema.tagged_union_schema(choices, discriminator=shape)

        def select(value: Any, validate: Callable[[Any], Any]) -> Any:
            if shape(value) not in members:
                detail = f"must be {wanted}; got {shown(value)}"
                raise error_of([Problem("", "wrong_type", detail)], "shape", value)
            return _without_tag(value, validate)

        return core_schema.no_info_wrap_validator_function(select, inner)


def _without_tag(value: Any, validate: Callable[[Any], Any]) -> Any:
    try:
        return validate(value)
    except ValidationError as error:
        raise explained(error, skip=1) from None


def _kind_of(member: Any, tag: str) -> str:
    return str(get_args(get_type_hints(member)[tag])[0])


def _shape(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return "list"
    if isinstance(value, str):
        return "text"
    return "object" if isinstance(value, (dict, BaseModel)) else "scalar"


def _shape_of_type(member: Any) -> str:
    if get_origin(_bare(member)) is tuple:
        return "list"
    bare = _bare(member)
    if bare is str or (get_origin(bare) is Literal and isinstance(get_args(bare)[0], str)):
        return "text"
    return "object" if isinstance(bare, type) and issubclass(bare, BaseModel) else "scalar"


def _name_of(member: Any) -> str:
    if get_origin(_bare(member)) is Literal:
        return ", ".join(map(str, get_args(_bare(member))))
    return {"list": "a list", "object": "an object"}.get(
        _shape_of_type(member), _NAMES.get(_bare(member), "a value")
    )


def _bare(member: Any) -> Any:
    """Returns the type without its annotations."""
    return get_args(member)[0] if get_origin(member) is Annotated else member
