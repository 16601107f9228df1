"""JSON of a model without the fields that its author did not write, or that equal their defaults.

A later version has more fields; a document without defaults means the same in both.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from ipulse_core import strict_json

# Decides from the name of a field and its value as JSON if it is part of the document.
_Included = Callable[[BaseModel, str, Any], bool]


def given_json(model: BaseModel) -> dict[str, Any]:
    """Returns a model as JSON with the fields that were given; it reads as an equal model."""
    return _document(model, model.model_dump(mode="json"), _is_given)


def chosen_json(model: BaseModel) -> dict[str, Any]:
    """Returns a model as JSON with the fields that differ from their defaults."""
    return _document(model, model.model_dump(mode="json"), _is_chosen)


def _document(model: BaseModel, whole: dict[str, Any], is_included: _Included) -> dict[str, Any]:
    """Returns a part of the JSON of a model; `whole` has all fields."""
    return {
        name: _value(getattr(model, name), whole[name], is_included)
        for name in type(model).model_fields
        # A field that is left out where it has no value is not in `whole`.
        if name in whole and (_is_tag(type(model), name) or is_included(model, name, whole[name]))
    }


def _value(value: Any, whole: Any, is_included: _Included) -> Any:
    if isinstance(value, BaseModel):
        return _document(value, whole, is_included)
    if isinstance(value, tuple):
        return [_value(item, part, is_included) for item, part in zip(value, whole, strict=True)]
    if isinstance(value, dict):
        return {key: _value(item, whole[key], is_included) for key, item in value.items()}
    return whole


@cache
def _is_tag(model: type[BaseModel], name: str) -> bool:
    """Returns whether a field has one possible value: it says what kind of object this is."""
    annotation = model.model_fields[name].annotation
    return get_origin(annotation) is Literal and len(get_args(annotation)) == 1


@cache
def _fixed_default(model: type[BaseModel], name: str) -> Any:
    return to_jsonable_python(model.model_fields[name].get_default(call_default_factory=True))


def _default(model: BaseModel, name: str) -> Any:
    """Returns the default of a field as JSON; some depend on other fields of the model."""
    field = type(model).model_fields[name]
    if not field.default_factory_takes_validated_data:
        return _fixed_default(type(model), name)
    values = {other: getattr(model, other) for other in type(model).model_fields}
    return to_jsonable_python(field.get_default(call_default_factory=True, validated_data=values))


def _is_given(model: BaseModel, name: str, _value: Any) -> bool:
    return name in model.model_fields_set


def _is_chosen(model: BaseModel, name: str, value: Any) -> bool:
    if type(model).model_fields[name].is_required():
        return True
    default = _default(model, name)
    # In Python, 1 is equal to true.
    return bool(value != default) or strict_json.dumps(value) != strict_json.dumps(default)
