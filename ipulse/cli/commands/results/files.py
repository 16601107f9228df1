"""download and report: the files of a job."""

from __future__ import annotations

import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, get_args

import typer

from ipulse.cli.exits import Exit
from ipulse.cli.newest_job import find_newest
from ipulse.cli.options import Address, AsJSON, JobId, Wide, addressed
from ipulse.cli.tables import show_list
from ipulse.cli.terminal import emit, say, show
from ipulse.client import Artifact
from ipulse_core.errors import InvalidInput, NotFound, Problem
from ipulse_core.events import Role

_ROLES = get_args(Role)


@addressed
def download(
    at: Address,
    job_id: JobId,
    to: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder for the files. [default: ./ID]")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="ROLE", help=f"Only this role; may be repeated: {', '.join(_ROLES)}."),
    ] = None,
    listed: Annotated[
        bool, typer.Option("--list", "-l", help="Only list the files, with their SHA-256.")
    ] = False,
    wide: Wide = False,
    as_json: AsJSON = False,
) -> Exit:
    """Download the files of a job, or list them with --list.

    Each file is verified by its SHA-256 before it gets its name.
    """
    for role in only or []:
        if role not in _ROLES:
            detail = f"must be one of {', '.join(_ROLES)}; got {role[:60]!r}"
            raise InvalidInput([Problem("/only", "not_a_choice", detail)], "no such role")
    with at.connect() as connection:
        job = find_newest(connection, job_id)
        if listed:
            files = [file for file in job.artifacts() if not only or file.role in only]
            return _show_files(files, as_json, wide)
        folder = Path(job.id) if to is None else to
        paths = job.download(folder, only or None)
    if not paths:
        wanted = f"file of role {' or '.join(only)}" if only else "files"
        raise NotFound(f"job {job.id} has no {wanted} (yet)")
    if as_json:
        emit({"folder": str(folder.resolve()), "files": [str(path) for path in paths]})
        return Exit.OK
    for path in paths:
        show(str(path))
    return Exit.OK


def _show_files(files: Sequence[Artifact], as_json: bool, wide: bool) -> Exit:
    rows = [(file.name, file.role, f"{file.size:,}", file.sha256, file.id) for file in files]
    headers = ["NAME", "ROLE", "BYTES", "SHA-256", "ID"]
    show_list("artifacts", [file.json for file in files], headers, rows, as_json, wide)
    return Exit.OK


@addressed
def report(
    at: Address,
    job_id: JobId,
    to: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder for the file. [default: ./ID]")
    ] = None,
    opened: Annotated[
        bool, typer.Option("--open", "-o", help="Open the report in a browser.")
    ] = False,
    as_json: AsJSON = False,
) -> Exit:
    """Download the report of a job, one file that needs no service, and print its path."""
    with at.connect() as connection:
        job = find_newest(connection, job_id)
        path = job.download_file("report.html", Path(job.id) if to is None else to)
    if as_json:
        emit({"file": str(path.resolve())})
    else:
        show(str(path))
    if opened and not webbrowser.open(path.resolve().as_uri()):
        say("No browser was found; open the file in one of your own.")
    return Exit.OK
