"""op push, op list and op delete: custom ops in the service."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ipulse.cli.exits import Exit
from ipulse.cli.options import Address, AsJSON, FollowOutside, Wide, Yes, addressed
from ipulse.cli.tables import LEAST_DIGITS, show_list
from ipulse.cli.terminal import (
    confirm,
    emit,
    minute_text,
    say,
    say_folder,
    show,
    show_done,
    size_text,
)
from ipulse.client import Connection
from ipulse_core.errors import InvalidInput, NotFound, Problem
from ipulse_core.op_manifest.manifest import FILE
from ipulse_core.op_manifest.reader import parse_manifest

DIGEST_DIGITS = 64  # of a whole digest


@addressed
def push_op(
    at: Address,
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Folder with op.json.", show_default=False)
    ],
    follow_outside: FollowOutside = False,
    as_json: AsJSON = False,
) -> Exit:
    """Upload a custom op and print its name with its digest, for `network.layers[].op` of a spec.

    Equal folders are one op. Hidden files, `build` and `__pycache__` are left out and counted;
    symbolic links are followed. The token must have the right to submit code.
    """
    manifest = folder / FILE
    if not manifest.is_file():
        detail = f"{manifest}: no such file; `ipulse op new NAME --layer` writes an op with one"
        raise InvalidInput([Problem("", "no_manifest", detail)])
    parse_manifest(manifest.read_bytes(), lambda name: (folder / name).is_file())
    with at.connect() as connection:
        op = connection.push_op(folder, follow_outside, say_folder)
    if as_json:
        emit(op.json)
    else:
        show(op.reference)
        say(f"It runs by: {', '.join(op.backends)}.")
    return Exit.OK


@addressed
def list_ops(at: Address, wide: Wide = False, as_json: AsJSON = False) -> Exit:
    """List the custom ops that were pushed, newest first."""
    with at.connect() as connection:
        found = connection.ops()
    rows = [
        (
            op.reference,
            ", ".join(op.backends),
            size_text(op.size),
            f"{op.jobs:,}",
            op.pushed_by or "",
            minute_text(op.created_at),
        )
        for op in found
    ]
    headers = ["OP", "BACK ENDS", "SIZE", "JOBS", "BY", "PUSHED"]
    show_list("ops", [op.json for op in found], headers, rows, as_json, wide)
    return Exit.OK


@addressed
def delete_op(
    at: Address,
    reference: Annotated[
        str,
        typer.Argument(
            metavar="NAME@DIGEST",
            help="As `ipulse op list` shows it; some first digits do.",
        ),
    ],
    yes: Yes = False,
    as_json: AsJSON = False,
) -> Exit:
    """Delete a custom op, so that no new job can name it.

    Jobs that do keep its package. The token must have the right to submit code.
    """
    with at.connect() as connection:
        whole = _whole(reference, connection)
        confirm("delete", f"the op {whole}", yes)
        connection.delete_op(whole)
    show_done("deleted", whole, as_json)
    return Exit.OK


def _whole(reference: str, connection: Connection) -> str:
    """Return a reference with its whole digest. Raises NotFound if several ops begin so."""
    reference = reference.rstrip("…")  # the mark of a cut cell
    name, _, digits = reference.partition("@sha256:")
    if not LEAST_DIGITS <= len(digits) < DIGEST_DIGITS:
        return reference
    found = [op.reference for op in connection.ops() if op.reference.startswith(reference)]
    if len(found) > 1:
        raise NotFound(
            f"several ops named {name} have digests that begin with {digits}: give more digits"
        )
    return found[0] if found else reference
