"""spec runs: prints which features run with which kinds of layers on which devices."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Annotated

import typer

from ipulse.cli.exits import Exit
from ipulse.cli.tables import show_table
from ipulse.cli.terminal import emit, show
from ipulse_core.errors import InvalidInput, Problem
from ipulse_core.registry.features import FEATURES
from ipulse_core.registry.kinds import DEVICES, LAYER_KINDS
from ipulse_core.registry.table import RUNS, Cell, cells, counts, to_json


def print_runs(
    name: Annotated[
        str,
        typer.Argument(
            metavar="[NAME]",
            help="A feature, a kind of layer or a kind of device: dropout, conv2d, emulator.",
        ),
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> Exit:
    """Print what runs where: `ipulse spec runs dropout`.

    Without a name, how much runs on each device, and all names. With --json, the whole table or its
    cells of this name.
    """
    key = name.replace("-", "_")
    if not name:
        _show_names(as_json)
        return Exit.OK
    found = [cell for cell in cells() if key in (cell.feature, cell.kind, cell.device)]
    if not found:
        raise _unknown(name)
    if as_json:
        emit({"cells": [cell.to_json() for cell in found]})
    elif key in FEATURES:
        show(FEATURES[key].sentence, style="bold")
        _show_cells(found, "KIND", lambda cell: cell.kind)
    elif key in LAYER_KINDS:
        show(LAYER_KINDS[key].sentence, style="bold")
        _show_cells(found, "FEATURE", lambda cell: cell.feature)
    else:
        show(DEVICES[key].sentence, style="bold")
        _show_kinds(found)
    return Exit.OK


def _show_names(as_json: bool) -> None:
    if as_json:
        emit(to_json())
        return
    rows = [[device, *map(str, found.values())] for device, found in counts().items()]
    show_table(["DEVICE", *(name.upper() for name in next(iter(counts().values())))], rows)
    for what, names in (("Features", FEATURES), ("Kinds of layers", LAYER_KINDS)):
        show(f"{what}, with `ipulse spec runs NAME`:", style="bold")
        show("  " + ", ".join(names))


def _show_cells(found: list[Cell], header: str, row_of: Callable[[Cell], str]) -> None:
    """Show a row for each kind or feature with a column for each device, and the reasons."""
    rows = dict.fromkeys(map(row_of, found))
    by_place = {(row_of(cell), cell.device): cell for cell in found}
    table = [[row, *(_shown(by_place[row, device]) for device in DEVICES)] for row in rows]
    show_table([header, *(device.upper() for device in DEVICES)], table)
    reasons: dict[str, list[str]] = {}
    for cell in found:
        texts = [cell.reason] if cell.verdict != RUNS else []
        texts += [f"not with {other}: {text}" for other, text in cell.not_combined_with]
        for text in texts:
            reasons.setdefault(text, []).append(f"{row_of(cell)} on {cell.device}")
    for text, places in reasons.items():
        more = f" and {len(places) - 3} more" if len(places) > 3 else ""
        show(f"{', '.join(places[:3])}{more}: {text}")


def _show_kinds(found: list[Cell]) -> None:
    by_place = {(cell.feature, cell.kind): cell for cell in found}
    rows = [[name, *(_shown(by_place[name, kind]) for kind in LAYER_KINDS)] for name in FEATURES]
    show_table(["FEATURE", *(kind.upper() for kind in LAYER_KINDS)], rows)


def _shown(cell: Cell) -> str:
    if cell.verdict == RUNS:
        return "yes, but" if cell.not_combined_with else "yes"
    return cell.verdict


def _unknown(name: str) -> InvalidInput:
    names = [*FEATURES, *LAYER_KINDS, *DEVICES]
    close = difflib.get_close_matches(name, names, 3, 0.5)
    similar = f"; similar: {', '.join(close)}" if close else ""
    detail = f"{name!r} is no feature, kind or device{similar}; `ipulse spec runs` lists all"
    return InvalidInput([Problem("/NAME", "unknown_name", detail)], detail)
