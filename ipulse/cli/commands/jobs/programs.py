"""program push, and the files that `ipulse submit` takes for a program or a script."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from ipulse.cli.exits import Exit
from ipulse.cli.options import Address, AsJSON, FollowOutside, addressed
from ipulse.cli.terminal import emit, say, say_folder, show
from ipulse.spec import CodeSpec, PoplarProgramSpec, ScriptSpec
from ipulse.spec.document.file import SpecFile
from ipulse.spec.document.settings import with_settings
from ipulse_core import source_package
from ipulse_core.errors import InvalidSpec, Problem
from ipulse_core.source_package import InvalidPackage
from ipulse_core.spec.job_kinds import CODE_KINDS


@addressed
def push_program(
    at: Address,
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER", help="Folder with the program or script.", show_default=False
        ),
    ],
    follow_outside: FollowOutside = False,
    as_json: AsJSON = False,
) -> Exit:
    """Upload the source package of a program or script and print its digest, for `package`.

    Equal folders have equal digests. Hidden files, `build` and `__pycache__` are left out and
    counted; symbolic links are followed. The token must have the right to submit code.
    """
    with at.connect() as connection:
        reference = connection.push_program(folder, follow_outside, say_folder)
    if as_json:
        emit({"package": reference})
    else:
        show(reference)
        say("It is kept for a day, and as long as a job uses it.")
    return Exit.OK


def has_package(file: SpecFile) -> bool:
    """Return whether a file is the spec of a program or a script."""
    return isinstance(file.value, dict) and file.value.get("kind") in CODE_KINDS


def with_package(
    file: SpecFile, settings: Sequence[str] | None, package: Callable[[Path], str]
) -> PoplarProgramSpec | ScriptSpec:
    """Return the spec of a program or a script in a file.

    Args:
        file: its `package` may be a folder, relative to the file.
        settings: fields that are replaced.
        package: returns the reference of a folder's package.

    Raises InvalidSpec with the lines of all problems.
    """
    if settings:
        file = with_settings(file, settings)
    given = file.value.get("package")
    if isinstance(given, str) and not re.match(source_package.REFERENCE, given):
        # Everything else is checked before anything is sent.
        _spec(replace(file, value={**file.value, "package": source_package.PREFIX + "0" * 64}))
        folder = Path(file.name).parent / given
        try:
            file = replace(file, value={**file.value, "package": package(folder)})
        except InvalidPackage as error:
            problem = Problem("/package", error.code, error.problems[0].detail)
            raise InvalidSpec([file.placed(problem)]) from error
    return _spec(file)


def local_reference(folder: Path) -> str:
    """Return the reference that a folder would get. Raises InvalidPackage."""
    content = io.BytesIO()
    source = source_package.read_folder(folder)
    say_folder(source.found)
    source_package.write_package(source.files, content)
    return source_package.PREFIX + hashlib.sha256(content.getvalue()).hexdigest()


def _spec(file: SpecFile) -> PoplarProgramSpec | ScriptSpec:
    spec = file.job_spec()
    assert isinstance(spec, CodeSpec)  # noqa: S101 - `has_package` was asked
    return spec
