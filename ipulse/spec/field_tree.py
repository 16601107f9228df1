"""The fields that a document of a spec has or may have, read from the JSON Schema of the spec."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from ipulse.spec import ExperimentSpec
from ipulse_core.registry.layer_paths import AS_CONNECTIONS, newer, older
from ipulse_core.registry.versions import flat_kind, is_newest, lowered
from ipulse_core.strict_json import escape, pointer_keys

Tokens = tuple[str, ...]
_ABSENT = object()


def fields_of(document: Any) -> Iterator[Tokens]:
    """Yields the path of every field, a parent before its parts; a default counts as a value.

    The document may be incomplete or wrong: what does not fit the schema has no fields.
    """
    for path, _ in fields_in_both(document):
        yield path


def fields_in_both(document: Any) -> Iterator[tuple[Tokens, Tokens]]:
    """Yields the path of every field in the version of the document and in the other version."""
    if not is_newest(document):
        for path in _fields(_schema(), document, ()):
            yield path, newer(path)
        return
    found = lowered(document)
    for flat in _fields(_schema(), found.document, ()):
        place = found.pointer(pointer(flat))
        if newer(flat)[-1] not in AS_CONNECTIONS or place.rpartition("/")[2] != flat[-1]:
            yield tuple(pointer_keys(place)), flat


def in_version_of(document: Any, path: Sequence[str]) -> Tokens:
    """Returns a whole path of either version as that of the document's version.

    A path that no field of the document has in the other version is returned as it is.
    """
    tokens = tuple(path)
    if is_newest(document):
        if newer(tokens) == tokens and tokens[3:4] != ("pool",):
            return tokens
        return tuple(pointer_keys(lowered(document).pointer(pointer(tokens))))
    for choice in older(tokens):
        if choice != tokens and _has_field(document, choice):
            return choice
    return tokens


def _has_field(document: Any, path: Tokens) -> bool:
    """Returns whether the network or a layer of a document of version 1 may have a field."""
    is_readout = path[1:2] == ("readout",)
    if path[:1] != ("network",) or not (is_readout or path[1:2] == ("layers",)):
        return path[:2] in set(fields_of(document))
    layer: Any = document
    for name in path[: 2 if is_readout else 3]:
        if isinstance(layer, dict):
            layer = layer.get(name, {})
        elif isinstance(layer, list) and name.isdigit() and int(name) < len(layer):
            layer = layer[int(name)]
        else:
            return False
    kind = flat_kind(layer, is_readout) if isinstance(layer, dict) else None
    return kind is not None and path[2 if is_readout else 3] in kind.fields


def pointer(path: Sequence[str]) -> str:
    """Returns a path as a JSON pointer."""
    return "".join(f"/{escape(name)}" for name in path)


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
