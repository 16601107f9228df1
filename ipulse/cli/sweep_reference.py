"""Finds the sweep that a user means."""

from __future__ import annotations

from typing import Annotated

import typer

from ipulse.cli.terminal import say
from ipulse.client import Connection, SweepHandle
from ipulse_core import ids
from ipulse_core.errors import NotFound

SHORTEST = 4  # digits of a shortened id
LOOKED_AT = 500  # sweeps among which a shortened id or a name is looked for

SweepId = Annotated[
    str,
    typer.Argument(
        metavar="SWEEP",
        help="Id of the sweep, its first characters (4 or more), its name, or latest.",
        show_default=False,
    ),
]


def find_newest_sweep(connection: Connection, reference: str) -> SweepHandle:
    """Return the sweep that a reference means; of several with one name the newest.

    It says which one it took. Raises NotFound.
    """
    return _find(connection, reference, takes_newest=True)


def find_sweep(connection: Connection, reference: str) -> SweepHandle:
    """Return the only sweep that a reference means. Raises NotFound."""
    return _find(connection, reference, takes_newest=False)


def _find(connection: Connection, reference: str, takes_newest: bool) -> SweepHandle:
    if ids.is_id(ids.SWEEP, reference):
        return connection.sweep(reference)
    latest = connection.sweeps(1 if reference == "latest" else LOOKED_AT)
    if reference == "latest":
        if not latest:
            raise NotFound("there are no sweeps")
        return connection.sweep(latest[0].id)
    digits = reference.removeprefix("swp_")
    found = [
        sweep
        for sweep in latest
        if sweep.name == reference
        or (len(digits) >= SHORTEST and sweep.id.startswith(f"swp_{digits}"))
    ]
    if not found:
        raise NotFound(f"there is no sweep {reference[:100]!r}; `ipulse sweep list` shows all")
    if takes_newest and len(found) > 1 and all(sweep.name == reference for sweep in found):
        say(
            f"{len(found)} sweeps have the name {reference!r}: this is the newest, {found[0].id} "
            f"({found[0].state})",
            style="yellow",
        )
    elif len(found) > 1:
        lines = [f"  {sweep.id}  {sweep.state}  {sweep.name}" for sweep in found[:10]]
        raise NotFound("\n".join([f"several sweeps match {reference[:100]!r}:", *lines]))
    return connection.sweep(found[0].id)  # a list has no definitions
