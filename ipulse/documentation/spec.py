"""docs/reference/spec.md: every field of the experiment spec, from the spec's own classes."""

from __future__ import annotations

import dataclasses
import json
from typing import (
    Any,
    Iterator,
    List,
    Literal,
    Mapping,
    Tuple,
    Type,
    Union,
    cast,
    get_args,
    get_origin,
)

from ipulse.spec import MAX_STATE, MAX_SYNAPSES, ExperimentSpec
from ipulse.spec.example import example_path
from ipulse_core import schema

_HEAD = f"""\
# The experiment spec

Written by `make docs` from `ipulse/spec/`; to change this page, change the fields there.

A spec is data: a YAML file for people, the same as JSON over HTTP. `ipulse validate FILE` checks
one on your machine and tells each problem with its line. A field without a default must be given;
a field that is not listed here is refused. Where several kinds are listed at one place and none is
named, the kind of the place's default is meant.

Two limits bind several fields: the whole network has at most {MAX_SYNAPSES:,} weights, and one
training step touches at most {MAX_STATE:,} membrane values (`data.steps` times
`training.batch_size` times all neurons).

## An example

`examples/digits.yaml`:

```yaml
"""


def spec_page() -> str:
    """The page as Markdown."""
    parts = [_HEAD + example_path().read_text(encoding="utf-8") + "```"]
    # Once each: several kinds of data have the same encodings.
    classes = list(dict.fromkeys(_classes(ExperimentSpec, "")))
    paths = [path for path, _ in classes]
    for path, cls in classes:
        tag = f"{schema.tag_of(cls)}: {schema.kind_of(cls)}" if paths.count(path) > 1 else ""
        parts.append(_section(path, tag, cls))
    return "\n\n".join(parts) + "\n"


def _classes(cls: Type[Any], path: str) -> Iterator[Tuple[str, Type[Any]]]:
    """A class and those in its fields, each with the path at which a spec has it."""
    yield path, cls
    for field, hint in schema.fields_of(cls):
        for inner in _dataclasses_in(hint):
            item = "[]" if get_origin(hint) is tuple else ""
            yield from _classes(inner, f"{path}.{field.name}{item}".lstrip("."))


def _dataclasses_in(hint: Any) -> List[Type[Any]]:
    if dataclasses.is_dataclass(hint):
        return [cast(Type[Any], hint)]
    if get_origin(hint) in (tuple, Union):
        return [cls for member in get_args(hint) for cls in _dataclasses_in(member)]
    return []


def _section(path: str, tag: str, cls: Type[Any]) -> str:
    """`tag`: of a class that shares its path with others."""
    title = f"`{path}`" if path else "The document"
    title += f" with `{tag}`" if tag else ""
    rows = [
        "| field | type | default | limits | unit | meaning |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    rows += [_row(field, hint) for field, hint in schema.fields_of(cls)]
    return f"## {title}\n\n{_paragraphs(cls)}\n\n" + "\n".join(rows)


def _row(field: Any, hint: Any) -> str:
    limits: Mapping[str, Any] = field.metadata
    cells = [
        f"`{field.name}`",
        _type(hint),
        _default(field, hint),
        _limits(hint, limits),
        str(limits.get("unit", "")),
        str(limits["doc"]),
    ]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _type(hint: Any) -> str:
    names = {int: "integer", float: "number", str: "text", bool: "true or false"}
    if hint in names:
        return names[hint]
    if dataclasses.is_dataclass(hint):
        return "object"
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is tuple:
        return f"list of {_type(arguments[0])}s"
    if origin is dict:
        return f"map of text to {_type(arguments[1])}"
    if origin is Literal:
        return " or ".join(f"`{choice}`" for choice in arguments)
    types = ["null" if member is type(None) else _type(member) for member in arguments]
    return " or ".join(dict.fromkeys(types))


def _default(field: Any, hint: Any) -> str:
    default = schema.default_of(field)
    if default is dataclasses.MISSING:
        return "*required*"
    if isinstance(default, dict) and get_origin(hint) is not dict:
        tag = default.get("kind") if get_origin(hint) is Union else None
        return f"`{tag}` with its defaults" if tag else "its defaults"
    return f"`{json.dumps(default)}`"


def _limits(hint: Any, limits: Mapping[str, Any]) -> str:
    words = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}
    told = [
        f"{sign} {_number(limits[name])}"
        for name, sign in words.items()
        if limits.get(name) is not None
    ]
    if get_origin(hint) in (tuple, dict) and limits.get("max_items") is not None:
        told.append(f"{limits.get('min_items') or 0} to {limits['max_items']} items")
    if get_origin(hint) is dict:
        told.append(f"keys up to {schema.MAX_KEY} characters")
    if hint is str or (get_origin(hint) is dict and get_args(hint)[1] is str):
        told.append(f"up to {limits['max_length']} characters")
    if limits.get("pattern"):
        told.append(f"matches `{limits['pattern']}`")
    return ", ".join(told)


def _number(value: float) -> str:
    return f"{int(value):,}" if value == int(value) else f"{value:g}"


def _paragraphs(cls: Type[Any]) -> str:
    return "\n".join(line.strip() for line in (cls.__doc__ or "").strip().split("\n"))
