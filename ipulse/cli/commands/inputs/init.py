"""init: writes a commented spec to begin with."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, TextIO

import typer

from ipulse.cli.exits import Exit
from ipulse.cli.options import AsJSON
from ipulse.cli.terminal import emit, say, show
from ipulse.spec.document.file import parse_spec_file
from ipulse.spec.document.template import spec_template
from ipulse_core.errors import InvalidInput, Problem
from ipulse_core.worker_faults import errors_name


def init(
    file: Annotated[
        Path, typer.Argument(metavar="[FILE]", help="The file to write.", show_default=True)
    ] = Path("experiment.yaml"),
    as_json: AsJSON = False,
) -> Exit:
    """Write a commented spec that trains on the included digits.

    The experiment has the file's name; without a suffix, .yaml is added. An existing file is never
    replaced.
    """
    if not file.name or not str(file).isprintable():
        detail = "this cannot be the name of a spec file"
        raise InvalidInput([Problem("/FILE", "wrong_form", detail)], detail)
    path = file if file.suffix in (".yaml", ".yml") else file.with_name(f"{file.name}.yaml")
    text = spec_template(path.stem, shlex.quote(str(path)))
    parse_spec_file(text.encode(), str(path)).spec()  # the name may be too long
    try:
        with errors_name(path), open(path, "x", encoding="utf-8") as output:
            _write(output, text, path)
    except FileExistsError:
        detail = f"{path} exists already and was not changed: choose another name"
        raise InvalidInput([Problem("/FILE", "exists", detail)], detail) from None
    if as_json:
        emit({"file": str(path.resolve()), "name": path.stem})
    else:
        show(str(path))
        say(f"Train it with `ipulse submit {shlex.quote(str(path))} --watch`.")
    return Exit.OK


def _write(output: TextIO, text: str, path: Path) -> None:
    """Write the text, or remove the file if the disk is full."""
    try:
        output.write(text)
        output.flush()
    except OSError:
        path.unlink(missing_ok=True)
        raise
