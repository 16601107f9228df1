"""artifacts, download and profile: what a job left."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Dict, List, Optional, get_args

import typer

from ipulse_core.errors import InvalidInput, NotFound, Problem
from ipulse_core.events import Role

from .exits import Exit
from .options import Address, AsJSON, JobId, addressed
from .profile_page import profile_lines
from .terminal import emit, say, show, show_table

_ROLES = get_args(Role)


@addressed
def artifacts(
    at: Address,
    job_id: JobId,
    as_json: AsJSON = False,
) -> Exit:
    """The files that a job left."""
    with at.connect() as client:
        found = client.artifacts(job_id)
    if as_json:
        emit({"artifacts": [artifact.json for artifact in found]})
        return Exit.OK
    rows = [(one.name, one.role, f"{one.size:,}", one.sha256, one.id) for one in found]
    show_table(["NAME", "ROLE", "BYTES", "SHA-256", "ID"], rows)
    return Exit.OK


@addressed
def download(
    at: Address,
    job_id: JobId,
    to: Annotated[
        Optional[Path], typer.Option(metavar="DIR", help="Folder to write. [default: ./ID]")
    ] = None,
    only: Annotated[
        Optional[List[str]],
        typer.Option(metavar="ROLE", help=f"Only this role; may be repeated: {', '.join(_ROLES)}."),
    ] = None,
    as_json: AsJSON = False,
) -> Exit:
    """Fetch the files that a job left.

    Each is verified by its SHA-256 before it gets its name.
    """
    for role in only or []:
        if role not in _ROLES:
            detail = f"must be one of {', '.join(_ROLES)}; got {role[:60]!r}"
            raise InvalidInput([Problem("/only", "not_a_choice", detail)], "no such role")
    folder = Path(job_id) if to is None else to
    with at.connect() as client:
        paths = client.download(job_id, folder, only or None)
    if only and not paths:
        raise NotFound(f"job {job_id} has no artifact of role {' or '.join(only)} (yet)")
    if as_json:
        emit({"folder": str(folder.resolve()), "files": [str(path) for path in paths]})
        return Exit.OK
    for path in paths:
        show(str(path))
    if not paths:
        say("The job has left no files (yet).")
    return Exit.OK


@addressed
def profile(
    at: Address,
    job_id: JobId,
    to: Annotated[
        Optional[Path], typer.Option(metavar="FILE", help="Save profile.json here instead.")
    ] = None,
    as_json: AsJSON = False,
) -> Exit:
    """Where a job's time and memory went. With --json the whole profile.json."""
    with at.connect() as client:
        found: Dict[str, Any] = client.profile(job_id)
    if to is not None:
        to.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if as_json:
        emit(found)
    elif to is not None:
        show(str(to))
    else:
        for line in profile_lines(found):
            show(line)
    return Exit.OK
