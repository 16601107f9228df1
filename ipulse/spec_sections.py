"""Every field of a spec in words, from its models: for the reference page and the CLI."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from ipulse.models import MAX_KEY, MAX_TEXT, PRINTABLE, StrictModel
from ipulse.spec import CodeSpec, ExperimentSpec, PoplarProgramSpec, ScriptSpec, version_2
from ipulse_core.limits import TRIMMED
from ipulse_core.registry.versions import NEWEST


@dataclass(frozen=True)
class FieldRow:
    """One field of a section, in words; `unit` and `limits` may be empty.

    usual: whether most networks set it.
    """

    name: str
    type: str
    default: str
    limits: str
    unit: str
    meaning: str
    usual: bool = False


@dataclass(frozen=True)
class Section:
    """The fields at one place of a spec, for one kind where several are possible.

    path: the place, such as `network.layers[]`; empty for the document of an experiment, `program`
    for that of a Poplar program, `script` for that of a script.
    """

    title: str
    path: str
    description: str
    fields: tuple[FieldRow, ...]


@cache
def spec_sections(version: int = NEWEST) -> tuple[Section, ...]:
    """Returns the sections of an experiment in a version of the spec, the document first."""
    root = version_2.experiment() if version == NEWEST else ExperimentSpec
    # Once each: several kinds of data have the same encodings, of layers the same neurons.
    tags: dict[tuple[str, type[StrictModel]], list[tuple[str, str]]] = {}
    for path, model, tag, outer in _models(root, ""):
        tags.setdefault((path, model), []).append((tag, outer))
    paths = [path for path, _ in tags]
    titles = {
        (path, model): _title(path, [tag for tag, _ in found] if paths.count(path) > 1 else ())
        for (path, model), found in tags.items()
    }
    shared = [title for title, number in Counter(titles.values()).items() if number > 1]
    sections = []
    for (path, model), title in titles.items():
        around = [outer for _, outer in tags[path, model]]
        more = f" in {_either(around)}" if title in shared else ""
        sections.append(_section(title + more, path, model))
    return tuple(sections)


@cache
def program_sections() -> tuple[Section, ...]:
    """Returns the sections of a spec that runs a Poplar program, the document first."""
    return _code_sections(PoplarProgramSpec, "program")


@cache
def script_sections() -> tuple[Section, ...]:
    """Returns the sections of a spec that runs a script, the document first."""
    return _code_sections(ScriptSpec, "script")


def _code_sections(document: type[CodeSpec], name: str) -> tuple[Section, ...]:
    sections = []
    for path, model, tag, _ in _models(document, ""):
        place = f"{name}.{path}".rstrip(".")
        title = _title(path and place, () if path else (tag,))
        sections.append(_section(title, place, model))
    return tuple(sections)


def _models(
    model: type[StrictModel], path: str, outer: str = ""
) -> Iterator[tuple[str, type[StrictModel], str, str]]:
    """Yields a model and those in its fields, each with its path, its tag and that around it.

    outer: the tag of the model around it, which selects a model without a tag of its own.
    """
    tag = _tag(model) or outer
    yield path, model, tag, outer
    for name, field in model.model_fields.items():
        for inner, is_item in _models_in(field.annotation):
            yield from _models(inner, f"{path}.{name}{'[]' if is_item else ''}".lstrip("."), tag)


def _models_in(hint: Any, is_item: bool = False) -> list[tuple[type[StrictModel], bool]]:
    """Returns the models in a type, and whether they are items of a list."""
    if isinstance(hint, type) and issubclass(hint, StrictModel):
        return [(hint, is_item)]
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _models_in(arguments[0], is_item)
    if origin in (tuple, Union, UnionType):
        inner = is_item or origin is tuple
        return [found for member in arguments for found in _models_in(member, inner)]
    return []


def _tag(model: type[StrictModel]) -> str:
    """Returns the field that selects a class among others, and its value; "" if it has none."""
    name = "kind" if "kind" in model.model_fields else "name"
    field = model.model_fields.get(name)
    if field is None or get_origin(field.annotation) is not Literal:
        return ""
    return f"{name}: {get_args(field.annotation)[0]}"


def _title(path: str, tags: Sequence[str]) -> str:
    return (f"`{path}`" if path else "The document") + (f" with {_either(tags)}" if tags else "")


def _either(tags: Sequence[str]) -> str:
    return " or ".join(f"`{tag}`" for tag in dict.fromkeys(tags))


def _section(title: str, path: str, model: type[StrictModel]) -> Section:
    rows = tuple(_row(name, field) for name, field in model.model_fields.items())
    return Section(title, path, _paragraphs(model), rows)


def _row(name: str, field: FieldInfo) -> FieldRow:
    extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
    return FieldRow(
        name,
        _type(field.annotation),
        _default(field),
        ", ".join(dict.fromkeys(_limits(field.annotation, field.metadata))),
        str(extra.get("unit", "")),
        str(field.description),
        bool(extra.get("usual")),
    )


def _type(hint: Any) -> str:
    names = {int: "integer", float: "number", str: "text", bool: "true or false"}
    if hint in names:
        return names[hint]
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _type(arguments[0])
    if origin is tuple:
        return f"list of {_type(arguments[0])}s"
    if origin is dict:
        return f"map of text to {_type(arguments[1])}"
    if origin is Literal:
        return " or ".join(f"`{choice}`" for choice in arguments)
    if origin in (Union, UnionType):
        types = ["null" if member is type(None) else _type(member) for member in arguments]
        return " or ".join(dict.fromkeys(types))
    return "object"


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "*required*"
    if field.default_factory is not None:  # the value of a field that is absent
        return "none"
    default = field.default
    if isinstance(default, dict) and [*default] == ["kind"]:
        return f"`{default['kind']}` with its defaults"
    if isinstance(default, StrictModel):
        tag = getattr(default, "kind", None)
        return f"`{tag}` with its defaults" if tag else "its defaults"
    return f"`{json.dumps(to_jsonable_python(default))}`"


def _limits(hint: Any, metadata: Iterable[Any]) -> Iterator[str]:
    """Yields the limits of a type with this metadata, those of its items included."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        yield from _limits(arguments[0], [*_flat(arguments[1:]), *metadata])
    elif origin in (Union, UnionType):
        for member in arguments:
            yield from _limits(member, metadata)
    elif origin in (tuple, dict):
        limits = _by_name(metadata)
        if "max_length" in limits:
            yield f"{limits.get('min_length', 0)} to {limits['max_length']} items"
        if origin is dict:
            yield f"keys up to {MAX_KEY} characters"
        yield from _limits(arguments[0 if origin is tuple else 1], [])
    elif hint is str:
        limits = _by_name(metadata)
        yield f"up to {limits.get('max_length', MAX_TEXT)} characters"
        if limits.get("pattern") == TRIMMED:
            yield "no white space at either end"
        elif limits.get("pattern", PRINTABLE) != PRINTABLE:
            yield f"matches `{limits['pattern']}`"
    elif hint in (int, float):
        limits = _by_name(metadata)
        for name, sign in (("ge", "≥"), ("gt", ">"), ("le", "≤"), ("lt", "<")):
            if name in limits:
                yield f"{sign} {_number(limits[name])}"


def _by_name(metadata: Iterable[Any]) -> dict[str, Any]:
    names = ("ge", "gt", "le", "lt", "min_length", "max_length", "pattern")
    return {
        name: getattr(item, name)
        for item in metadata
        for name in names
        if getattr(item, name, None) is not None
    }


def _flat(metadata: Iterable[Any]) -> Iterator[Any]:
    for item in metadata:
        if isinstance(item, FieldInfo):
            yield from item.metadata
        else:
            yield item


def _number(value: float) -> str:
    return f"{int(value):,}" if value == int(value) else f"{value:g}"


def _paragraphs(model: type[StrictModel]) -> str:
    return "\n".join(line.strip() for line in (model.__doc__ or "").strip().split("\n"))
