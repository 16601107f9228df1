"""init: writes a commented spec to begin with."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, TextIO

import typer

from ipulse.cli.commands.inputs.local_data import data_fields, facts_of, loss_of
from ipulse.cli.exits import Exit
from ipulse.cli.options import AsJSON
from ipulse.cli.terminal import emit, say, show
from ipulse.client.datasets.packing import name_of
from ipulse.spec.document.example import EXAMPLES, ExampleName, example_path
from ipulse.spec.document.file import parse_spec_file
from ipulse.spec.document.template import spec_template
from ipulse_core.errors import InvalidInput, Problem
from ipulse_core.input_files import check_file
from ipulse_core.worker_faults import errors_name


def init(
    file: Annotated[
        Path, typer.Argument(metavar="[FILE]", help="The file to write.", show_default=True)
    ] = Path("experiment.yaml"),
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="Train on this npz, HDF5 or CSV file; its shapes are read.",
            exists=True,
        ),
    ] = None,
    example: Annotated[
        ExampleName | None,
        typer.Option(
            metavar="NAME",
            help=f"Write an included example: {', '.join(EXAMPLES)}.",
            show_choices=False,
        ),
    ] = None,
    as_json: AsJSON = False,
) -> Exit:
    """Write a commented spec that trains on the included digits, or on your data.

    The experiment has the file's name, an example its own; without a suffix, .yaml is added. An
    existing file is never replaced. Upload your data with ipulse data push before you submit.
    """
    if not file.name or not str(file).isprintable():
        detail = "this cannot be the name of a spec file"
        raise InvalidInput([Problem("/FILE", "wrong_form", detail)], detail)
    path = file if file.suffix in (".yaml", ".yml") else file.with_name(f"{file.name}.yaml")
    text = _text(path, data, example)
    spec = parse_spec_file(text.encode(), str(path)).spec()  # the name may be too long
    try:
        with errors_name(path), open(path, "x", encoding="utf-8") as output:
            _write(output, text, path)
    except FileExistsError:
        detail = f"{path} exists already and was not changed: choose another name"
        raise InvalidInput([Problem("/FILE", "exists", detail)], detail) from None
    if as_json:
        emit({"file": str(path.resolve()), "name": spec.name})
    else:
        show(str(path))
        if data is not None:
            say(f"Upload the data with `ipulse data push {shlex.quote(str(data))}`.")
        say(f"Train it with `ipulse submit {shlex.quote(str(path))} --watch`.")
    return Exit.OK


def _text(path: Path, data: Path | None, example: ExampleName | None) -> str:
    """Return the text of the spec to write."""
    if example is not None:
        if data is not None:
            detail = "an example has its own data: give --data or --example"
            raise InvalidInput([Problem("/example", "contradiction", detail)], detail)
        return example_path(example).read_text(encoding="utf-8")
    file = shlex.quote(str(path))
    if data is None:
        return spec_template(path.stem, file)
    if data.is_dir():
        detail = (
            f"{data} is a folder, as published data sets are, whose shapes a spec does not need: "
            f"`ipulse data push {shlex.quote(str(data))}` prints the line of `data` for a spec"
        )
        raise InvalidInput([Problem("/data", "folder", detail)], detail)
    check_file(data)
    kind, facts = facts_of(data)
    for warning in facts["warnings"]:
        say(f"Warning: {warning}.", style="yellow")
    fields = data_fields(kind, name_of(data), facts)
    return spec_template(path.stem, file, fields, loss_of(facts))


def _write(output: TextIO, text: str, path: Path) -> None:
    """Write the text, or remove the file if the disk is full."""
    try:
        output.write(text)
        output.flush()
    except OSError:
        path.unlink(missing_ok=True)
        raise
