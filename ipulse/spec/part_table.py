"""Writes the fields and defaults of the models as plain data for `ipulse_core.spec.upgrade`.

The models are the one place of a default, and need a newer Python than the runner. After a change
of a field run `python -m ipulse.spec.part_table`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel

import ipulse_core.spec
from ipulse.models import ByKind
from ipulse.models.partial_json import chosen_json
from ipulse.spec.job_spec import JobSpec

PATH = Path(ipulse_core.spec.__file__).with_name("parts.json")


def table() -> str:
    """Returns the fields of every part of a spec as JSON text, a line for each field.

    A field may have a `default` (without one it is required), `choices`, and a `part`: the name of
    one, or the parts that a tag selects. `is_float` marks numbers that are no integers.
    """
    parts: dict[str, dict[str, Any]] = {}
    root = _part_of(JobSpec, (), parts)
    lines = ["{", f'"root": {json.dumps(root)},', '"parts": {']
    for last_part, (name, fields) in _with_last(parts.items()):
        lines.append(f'"{name}": {{')
        lines += (
            f'  "{field}": {json.dumps(facts)}{"" if last else ","}'
            for last, (field, facts) in _with_last(fields.items())
        )
        lines.append("}" if last_part else "},")
    return "\n".join([*lines, "}", "}", ""])


def _add(model: type[BaseModel], parts: dict[str, dict[str, Any]]) -> str:
    """Adds the fields of a model and of its parts; returns its name."""
    if model.__name__ not in parts:
        fields = parts[model.__name__] = {}
        for name, field in model.model_fields.items():
            facts = fields[name] = {}
            if not field.is_required():
                facts["default"] = _plain(field.default)
            if field.exclude_if is not None:
                facts["is_left_out"] = True
            part = _part_of(field.annotation, field.metadata, parts)
            if part is not None:
                facts["part"] = part
            numbers = set(_numbers(field.annotation))
            if (choices := _choices(field.annotation)) and not numbers:
                facts["choices"] = choices
            if numbers == {float}:
                facts["is_float"] = True
    return model.__name__


def _plain(default: Any) -> Any:
    """Returns a default as JSON; that of a part without the part's own defaults."""
    if isinstance(default, BaseModel):
        return chosen_json(default)
    return list(default) if isinstance(default, tuple) else default


def _part_of(hint: Any, metadata: Any, parts: dict[str, dict[str, Any]]) -> Any:
    """Returns the part that an object of this type is, None if it has keys of the user's own."""
    if get_origin(hint) is Annotated:
        return _part_of(get_args(hint)[0], get_args(hint)[1:], parts)
    for each in metadata:
        if isinstance(each, ByKind):
            kinds = {}
            for member in get_args(hint):
                [kind] = get_args(member.model_fields[each.tag].annotation)
                kinds[kind] = _add(member, parts)
            return {"tag": each.tag, "default": each.default, "kinds": kinds}
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        return _add(hint, parts)
    if get_origin(hint) is dict:
        return None
    found = [_part_of(inner, (), parts) for inner in get_args(hint) if inner is not Ellipsis]
    return next((part for part in found if part is not None), None)


def _choices(hint: Any) -> list[Any]:
    """Returns the values that a field, or an item of it, may have if it is no object or null."""
    if get_origin(hint) is Literal:
        return list(get_args(hint))
    found: list[Any] = []
    for inner in get_args(hint) if get_origin(hint) is not dict else ():
        found += _choices(inner)
    return found


def _numbers(hint: Any) -> Iterator[type]:
    """Yields the types of the numbers that a field may be, or consist of."""
    if hint in (int, float):
        yield hint
    if get_origin(hint) not in (dict, Literal):
        for inner in get_args(hint)[:1] if get_origin(hint) is Annotated else get_args(hint):
            yield from _numbers(inner)


def _with_last(items: Any) -> Iterator[tuple[bool, Any]]:
    """Yields each item, and whether it is the last."""
    listed = list(items)
    for index, item in enumerate(listed):
        yield index == len(listed) - 1, item


if __name__ == "__main__":
    PATH.write_text(table(), encoding="utf-8")
