"""Types of fields that more than one model has."""

from typing import Annotated, Any, TypeVar

from pydantic import (
    BeforeValidator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    Strict,
    StringConstraints,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError

from ipulse.models.messages import explained, shown
from ipulse_core.limits import LABEL, WANTED_LABEL
from ipulse_core.limits import MAX_INTEGER as MAX_INTEGER
from ipulse_core.limits import MAX_KEY as MAX_KEY
from ipulse_core.limits import MAX_TEXT as MAX_TEXT
from ipulse_core.limits import PRINTABLE as PRINTABLE

T = TypeVar("T")

_CHECKED_ITEMS = 1000  # of a list at once


def unit(name: str) -> dict[str, Any]:
    """Returns what a field's JSON Schema says about its unit."""
    return {"unit": name}


def _exact_integer(value: Any) -> Any:
    # Pydantic compares the choices of a Literal by ==, and in Python 1 == True == 1.0.
    if isinstance(value, (bool, float)):
        detail = f"must be an integer; got {shown(value)}"
        raise PydanticCustomError("not_a_choice", "{detail}", {"detail": detail})
    return value


def _key(detail: str) -> WrapValidator:
    """Returns a check for a key of a map, which refuses a wrong one in these words."""

    def check(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
        try:
            return handler(value)
        except ValidationError:
            raise PydanticCustomError("bad_key", "{detail}", {"detail": detail}) from None

    return WrapValidator(check)


def _scalar(value: Any, handler: Any) -> Any:
    try:
        return handler(value)
    except ValidationError:
        detail = f"must be a number, text, true or false; got {shown(value)}"
        raise PydanticCustomError("wrong_type", "{detail}", {"detail": detail}) from None


def few(most: int) -> WrapValidator:
    """Returns a check for a list that bounds the problems which are explained.

    Each wrong item takes some 10 us to explain, and a document has room for a million. A list that
    is far too long is refused before its items; of others the items are checked in parts, and only
    the first part that has problems is explained.
    """

    def check(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
        if not isinstance(value, (list, tuple)) or len(value) <= _CHECKED_ITEMS:
            return handler(value)
        if len(value) > most:
            detail = f"must have at most {most} items; got {len(value)}"
            raise PydanticCustomError("wrong_length", "{detail}", {"detail": detail})
        items: list[Any] = []
        first: tuple[int, ValidationError] | None = None
        more = 0
        for begin in range(0, len(value), _CHECKED_ITEMS):
            try:
                items += handler(value[begin : begin + _CHECKED_ITEMS])
            except ValidationError as error:
                if first is None:
                    first = begin, error
                else:
                    more += error.error_count()
        if first is not None:
            raise explained(first[1], offset=first[0], more=more)
        return tuple(items)

    return WrapValidator(check)


class _NamedValues:
    """Describes a map by its values and the form of its keys, which every reader understands."""

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        document = handler(schema)
        [(pattern, values)] = document.pop("patternProperties").items()
        names = {**document.get("propertyNames", {}), "pattern": pattern}
        return {**document, "propertyNames": names, "additionalProperties": values}


class FromObject:
    """Lets a strict dataclass be read from a JSON object."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        schema = handler(source)
        return {**handler.resolve_ref_schema(schema), "strict": False}


Text = Annotated[str, StringConstraints(max_length=MAX_TEXT, pattern=PRINTABLE)]
Integer = Annotated[int, Field(ge=-MAX_INTEGER, le=MAX_INTEGER)]
ExactInteger = BeforeValidator(_exact_integer)  # for a Literal of integers
Key = Annotated[
    str,
    StringConstraints(min_length=1, max_length=MAX_KEY, pattern=PRINTABLE),
    _key(f"keys are text of 1 to {MAX_KEY} printable characters"),
]
TextByKey = Annotated[dict[Key, Text], _NamedValues()]
# A number, text, true or false.
Scalar = Annotated[bool | Integer | float | Text, WrapValidator(_scalar)]
ScalarByKey = Annotated[dict[Key, Scalar], _NamedValues()]
LabelName = Annotated[
    str,
    StringConstraints(pattern=LABEL),
    _key("names of labels are 1 to 63 characters of a-z, 0-9 and _ . / -"),
]
LabelValue = Annotated[str, StringConstraints(pattern=WANTED_LABEL)]
LabelSelector = Annotated[dict[LabelName, LabelValue], _NamedValues()]
ListOf = Annotated[tuple[T, ...], Strict(False)]  # a list in JSON, a tuple in Python
