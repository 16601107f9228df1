"""spec: prints the spec of a job, and the fields that a spec may have."""

from __future__ import annotations

import dataclasses
import difflib
import re
import textwrap
from typing import Annotated

import typer

from ipulse.cli.exits import Exit
from ipulse.cli.newest_job import find_newest
from ipulse.cli.options import Address, AsJSON, JobId, addressed
from ipulse.cli.terminal import console, emit, show
from ipulse.spec_sections import FieldRow, Section, program_sections, spec_sections
from ipulse_core.errors import InvalidInput, Problem


@addressed
def print_spec(
    at: Address,
    job_id: JobId,
    submitted: Annotated[
        bool,
        typer.Option("--submitted", help="The text that was submitted, with its comments."),
    ] = False,
    as_json: AsJSON = False,
) -> Exit:
    """Print the spec of a job as YAML, with every default: `ipulse spec show latest > again.yaml`.

    With --json the spec is printed as JSON, and with --submitted and --json its text as JSON.
    """
    with at.connect() as connection:
        job = find_newest(connection, job_id)
        if as_json and not submitted:
            emit(job.spec)
            return Exit.OK
        text = job.spec_text("submitted" if submitted else "resolved")
    if as_json:
        emit({"text": text})
    else:
        show(text.removesuffix("\n"))
    return Exit.OK


def print_fields(
    path: Annotated[
        str,
        typer.Argument(
            metavar="[PATH]",
            help="A place in a spec, such as training, network.layers or training.epochs.",
        ),
    ] = "",
    as_json: AsJSON = False,
) -> Exit:
    """Print the fields of a spec at a place: type, default, limits, unit and meaning.

    Without a path, those of the document and the paths that have fields of their own.
    """
    place = _place(path)
    every = [*spec_sections(), *program_sections()]
    found = [section for section in every if section.path == place]
    if place and not found:
        found = _with_field(every, place)
    if not found:
        raise _unknown(path, place, every)
    if as_json:
        emit({"sections": [dataclasses.asdict(section) for section in found]})
        return Exit.OK
    for section in found:
        _show_section(section)
    deeper = dict.fromkeys(s.path for s in every if s.path and s.path.startswith(place))
    paths = [path for path in deeper if path != place]
    if paths:
        show("More fields, with `ipulse spec fields PATH`:", style="bold")
        show(textwrap.fill(", ".join(paths), _width(), initial_indent="  ", subsequent_indent="  "))
    return Exit.OK


def _place(path: str) -> str:
    """Return a path as sections have it: `network.layers[]` for `/network/layers/0`."""
    words = [word for word in re.split(r"[./\[\]]+", path) if word and not word.isdecimal()]
    lists = {s.path.replace("[]", ""): s.path for s in [*spec_sections(), *program_sections()]}
    for count in range(len(words), 0, -1):
        head = ".".join(words[:count])
        if head in lists:
            return ".".join([lists[head], *words[count:]])
    return ".".join(words)


def _with_field(every: list[Section], place: str) -> list[Section]:
    """Return the sections that have a field of this path, with that field alone."""
    above, _, name = place.rpartition(".")
    found = []
    for section in every:
        rows = tuple(row for row in section.fields if row.name == name)
        if section.path == above and rows:
            found.append(dataclasses.replace(section, fields=rows))
    return found


def _unknown(path: str, place: str, every: list[Section]) -> InvalidInput:
    paths = {s.path: s.path for s in every}
    paths |= {f"{s.path}.{row.name}".lstrip("."): "" for s in every for row in s.fields}
    close = difflib.get_close_matches(place, [name for name in paths if name], 3, 0.5)
    similar = f"; similar: {', '.join(close)}" if close else ""
    detail = f"{path!r} is no place in a spec{similar}; `ipulse spec fields` lists all places"
    return InvalidInput([Problem("/PATH", "unknown_name", detail)], detail)


def _show_section(section: Section) -> None:
    show(section.title.replace("`", ""), style="bold")
    show(_wrapped(section.description, "  "))
    for row in section.fields:
        show(f"  {row.name}: {_facts(row)}")
        show(_wrapped(row.meaning, "      "))
    show("")


def _facts(row: FieldRow) -> str:
    """Return the type of a field, its limits, its unit and its default."""
    default = "required" if row.default == "*required*" else f"default {row.default}"
    facts = [row.type, row.limits, row.unit, default]
    return ", ".join(fact for fact in facts if fact).replace("`", "")


def _wrapped(text: str, indent: str) -> str:
    plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text).replace("`", "")
    return "\n".join(
        textwrap.fill(paragraph, _width(), initial_indent=indent, subsequent_indent=indent)
        for paragraph in plain.split("\n\n")
    )


def _width() -> int:
    return min(console().width, 100)
