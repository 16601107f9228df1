"""The fields that a document of a spec has or may have, read from the JSON Schema of the spec."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from ipulse.spec import ExperimentSpec

Tokens = tuple[str, ...]
_ABSENT = object()


def fields_of(document: Any) -> Iterator[Tokens]:
    """Yields the path of every field, a parent before its parts; a default counts as a value.

    The document may be incomplete or wrong: what does not fit the schema has no fields.
    """
    yield from _fields(_schema(), document, ())


@cache
def _schema() -> dict[str, Any]:
    return ExperimentSpec.model_json_schema()


def _fields(node: dict[str, Any], value: Any, path: Tokens) -> Iterator[Tokens]:
    if value is _ABSENT:
        value = node.get("default", _ABSENT)
    node = _chosen(node, value)
    if "properties" in node:
        given = value if isinstance(value, dict) else {}
        for name, part in node["properties"].items():
            inside = (*path, name)
            yield inside
            yield from _fields(part, given.get(name, _ABSENT), inside)
    elif "items" in node and isinstance(value, list):
        for index, item in enumerate(value):
            yield from _fields(node["items"], item, (*path, str(index)))


def _chosen(node: dict[str, Any], value: Any) -> dict[str, Any]:
    """Returns the member of a union that a value selects, without references."""
    while True:
        if "$ref" in node:
            node = _schema()["$defs"][node["$ref"].rpartition("/")[2]]
        elif "discriminator" in node:
            node = _by_tag(node, value)
        elif "anyOf" in node or "oneOf" in node:
            node = _by_shape(node.get("anyOf") or node["oneOf"], value)
        else:
            return node


def _by_tag(node: dict[str, Any], value: Any) -> dict[str, Any]:
    tag, members = node["discriminator"]["propertyName"], node["discriminator"]["mapping"]
    if isinstance(value, dict) and isinstance(value.get(tag), str):
        reference = members.get(value[tag])
        return {} if reference is None else {"$ref": reference}
    # The member that is meant without a tag is the only one that does not require it.
    usual = [member for member in node["oneOf"] if "required" not in member]
    return {"$ref": usual[0]["$ref"]} if usual else {}


def _by_shape(members: list[dict[str, Any]], value: Any) -> dict[str, Any]:
    """Returns the member that is an object or a list, as the value is; {} for other values."""
    if isinstance(value, dict):
        nested = (member for member in members if _NESTED & member.keys())
        return next(nested, {})
    if isinstance(value, list):
        return next((member for member in members if "items" in member), {})
    return {}


_NESTED = {"$ref", "discriminator", "oneOf", "anyOf", "properties"}
