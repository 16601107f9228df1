"""JSON Schema of the schema dataclasses: what the parser holds, told to other programs."""

from __future__ import annotations

import dataclasses
from typing import Any, Dict, Literal, Sequence, Type, cast, get_args, get_origin

from ipulse_core.schema import (
    MAX_INTEGER,
    MAX_KEY,
    MAX_TEXT,
    UNIONS,
    default_of,
    fields_of,
    kind_of,
    tag_of,
)


def json_schema(cls: Type[Any]) -> Dict[str, Any]:
    """JSON Schema (2020-12) of a schema dataclass, self-contained."""
    properties = {}
    required = []
    for field, hint in fields_of(cls):
        entry = _schema_of_type(hint, field.metadata)
        entry["description"] = field.metadata.get("doc", "")
        default = default_of(field)
        if default is dataclasses.MISSING:
            required.append(field.name)
        else:
            entry["default"] = default
        properties[field.name] = entry
    return {
        "type": "object",
        "title": cls.__name__,
        "description": (cls.__doc__ or "").strip().split("\n")[0],
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _schema_of_type(hint: Any, limits: Any) -> Dict[str, Any]:
    if hint is Any:
        return {}
    if dataclasses.is_dataclass(hint):
        return json_schema(cast(Type[Any], hint))
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is type(None):
        return {"type": "null"}
    if origin in UNIONS:
        return _schema_of_union(arguments, limits)
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (list, tuple):
        entry: Dict[str, Any] = {"type": "array", "items": _schema_of_type(arguments[0], limits)}
        _put(entry, minItems=limits.get("min_items") or None, maxItems=limits.get("max_items"))
        return entry
    if origin is dict:
        entry = {"type": "object", "additionalProperties": _schema_of_type(arguments[1], limits)}
        entry["propertyNames"] = {"minLength": 1, "maxLength": MAX_KEY}
        return _put(entry, maxProperties=limits.get("max_items"))
    if hint is str:
        entry = {"type": "string", "maxLength": limits.get("max_length") or MAX_TEXT}
        pattern = limits.get("pattern")  # of the whole text; JSON Schema would search for it
        return _put(entry, pattern=f"^(?:{pattern})$" if pattern else None)
    if hint is bool:
        return {"type": "boolean"}
    entry = {"type": "integer" if hint is int else "number"}
    _put(
        entry,
        minimum=limits.get("ge"),
        exclusiveMinimum=limits.get("gt"),
        maximum=limits.get("le"),
        exclusiveMaximum=limits.get("lt"),
    )
    if hint is int and not {"maximum", "exclusiveMaximum"} & entry.keys():
        entry["maximum"] = MAX_INTEGER
    if hint is int and not {"minimum", "exclusiveMinimum"} & entry.keys():
        entry["minimum"] = -MAX_INTEGER
    return entry


def _schema_of_union(arguments: Sequence[Any], limits: Any) -> Dict[str, Any]:
    members = {member: _schema_of_type(member, limits) for member in arguments}
    objects = [cast(Type[Any], member) for member in arguments if dataclasses.is_dataclass(member)]
    if len(objects) > 1:  # told apart by their tags, which only the default's may leave out
        for member in objects:
            if kind_of(member) != limits.get("untagged"):
                members[member]["required"] = [tag_of(member), *members[member]["required"]]
    return {"oneOf" if len(objects) == len(arguments) else "anyOf": list(members.values())}


def _put(entry: Dict[str, Any], **items: Any) -> Dict[str, Any]:
    entry.update({key: value for key, value in items.items() if value is not None})
    return entry
