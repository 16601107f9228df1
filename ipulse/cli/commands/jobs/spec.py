"""spec: prints the spec of a job or a file, and the fields and the schema of specs."""

from __future__ import annotations

import dataclasses
import difflib
import re
import textwrap
from pathlib import Path
from typing import Annotated

import typer

from ipulse.cli.exits import Exit
from ipulse.cli.newest_job import find_newest
from ipulse.cli.options import Address, AsJSON, JobId, addressed
from ipulse.cli.terminal import console, emit, show
from ipulse.spec import parse_job_spec
from ipulse.spec.document.file import read_spec_file
from ipulse.spec.document.yaml_writer import yaml_text
from ipulse.spec.job_spec import json_schema
from ipulse.spec_sections import FieldRow, Section, program_sections, script_sections, spec_sections
from ipulse_core import strict_json
from ipulse_core.errors import InvalidInput, Problem
from ipulse_core.registry.layer_paths import newer
from ipulse_core.registry.versions import NEWEST, raise_to_2


@addressed
def print_spec(
    at: Address,
    job_id: JobId,
    submitted: Annotated[
        bool,
        typer.Option("--submitted", help="The text that was submitted, with its comments."),
    ] = False,
    version: Annotated[
        int,
        typer.Option("--version", min=1, max=NEWEST, help="Version of the spec that is printed."),
    ] = 1,
    as_json: AsJSON = False,
) -> Exit:
    """Print the spec of a job as YAML, with every default: `ipulse spec show latest > again.yaml`.

    With --json the spec is printed as JSON, and with --submitted and --json its text as JSON.
    """
    with at.connect() as connection:
        job = find_newest(connection, job_id)
        if as_json and not submitted:
            emit(job.spec if version == 1 else raise_to_2(job.spec))
            return Exit.OK
        if submitted:
            text = job.spec_text("submitted")
        else:
            text = job.spec_text("resolved" if version == 1 else "version_2")
    if as_json:
        emit({"text": text})
    else:
        show(text.removesuffix("\n"))
    return Exit.OK


def print_upgraded(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="YAML or JSON; `-` reads stdin.")],
    as_json: AsJSON = False,
) -> Exit:
    """Print the spec in a file as version 2, in YAML: `ipulse spec upgrade old.yaml > new.yaml`.

    The spec is checked. Fields that it does not give are not added, and comments are not kept.
    """
    read = read_spec_file(file)
    spec = read.job_spec()
    document = raise_to_2(read.value)
    if parse_job_spec(document) != spec:
        raise AssertionError("the upgraded spec differs; please report this")
    if as_json:
        emit(document)
    else:
        show(yaml_text(document).removesuffix("\n"))
    return Exit.OK


def print_schema() -> Exit:
    """Print the JSON Schema of specs, for editors: `ipulse spec schema > ipulse.schema.json`.

    It describes both versions of the spec. An editor that knows the schema of a YAML file completes
    the names of fields and marks what is wrong while you write.
    """
    emit(json_schema())
    return Exit.OK


def print_fields(
    path: Annotated[
        str,
        typer.Argument(
            metavar="[PATH]",
            help="A place in a spec, such as training, network.layers or training.epochs.",
        ),
    ] = "",
    every: Annotated[
        bool, typer.Option("--all", help="Describe also the fields that few networks set.")
    ] = False,
    version: Annotated[
        int, typer.Option("--version", min=1, max=NEWEST, help="Version of the spec.")
    ] = NEWEST,
    as_json: AsJSON = False,
) -> Exit:
    """Print the fields of a spec at a place: type, default, limits, unit and meaning.

    Without a path, those of the document and the paths that have fields of their own. Of layers,
    connections and neurons the usual fields are described and the others named.
    """
    known = [*spec_sections(version), *program_sections(), *script_sections()]
    place = _place(path, known)
    found = [section for section in known if section.path == place]
    is_whole = bool(found)
    if place and not found:
        found = _with_field(known, place) or _with_field(known, _newer(place, known))
    if not found:
        raise _unknown(path, place, known)
    if as_json:
        emit({"sections": [dataclasses.asdict(section) for section in found]})
        return Exit.OK
    for section in found:
        _show_section(section, every or not is_whole)
    deeper = dict.fromkeys(s.path for s in known if s.path and s.path.startswith(place))
    paths = [path for path in deeper if path != place]
    if paths:
        show("More fields, with `ipulse spec fields PATH`:", style="bold")
        show(textwrap.fill(", ".join(paths), _width(), initial_indent="  ", subsequent_indent="  "))
    return Exit.OK


def _place(path: str, known: list[Section]) -> str:
    """Return a path as sections have it: `network.layers[]` for `/network/layers/0`."""
    words = [word for word in re.split(r"[./\[\]]+", path) if word and not word.isdecimal()]
    lists = {section.path.replace("[]", ""): section.path for section in known}
    for count in range(len(words), 0, -1):
        head = ".".join(words[:count])
        if head in lists:
            return ".".join([lists[head], *words[count:]])
    return ".".join(words)


def _newer(place: str, known: list[Section]) -> str:
    """Return the place of version 2 for one of version 1."""
    return _place(strict_json.dotted(newer(place.replace("[]", ".0").split("."))), known)


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


def _show_section(section: Section, every: bool) -> None:
    show(section.title.replace("`", ""), style="bold")
    show(_wrapped(section.description, "  "))
    usual = [row for row in section.fields if row.usual]
    for row in section.fields if every or not usual else usual:
        show(f"  {row.name}: {_facts(row)}")
        show(_wrapped(row.meaning, "      "))
    if usual and not every:
        rest = ", ".join(row.name for row in section.fields if not row.usual)
        show(_wrapped(f"more, with --all: {rest}", "  "))
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
