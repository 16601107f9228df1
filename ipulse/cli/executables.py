"""cache: the compiled programs that this machine keeps for its emulated and other IPUs."""

from __future__ import annotations

import json
import subprocess  # the operators' own module
import sys
from typing import Annotated, Any, Dict, List, Optional

import typer

from ipulse_core.errors import InvalidInput, MissingDependency, Problem

from .exits import Exit
from .options import AsJSON
from .terminal import emit, show, show_table, size_text

HEADERS = ("device", "key", "size", "last used", "")
_NO_LIMIT = 2  # what the module ends with where a limit is none


def list_executables(as_json: AsJSON = False) -> Exit:
    """List the compiled programs that this machine keeps, and what they may take."""
    return _show(_ask([]), as_json)


def prune_executables(
    size: Annotated[
        Optional[int],
        typer.Option(
            "--bytes", min=0, help="For each kind of device. [default: the worker's limit]"
        ),
    ] = None,
    days: Annotated[
        Optional[float],
        typer.Option(min=0, help="Since the last use. [default: the worker's limit]"),
    ] = None,
    as_json: AsJSON = False,
) -> Exit:
    """Remove programs that are too old, then the longest unused. None that is in use.

    `--bytes 0` removes all others. What is gone is compiled again when a job wants it.
    """
    options = [] if size is None else ["--bytes", str(size)]
    options += [] if days is None else ["--days", str(days)]
    return _show(_ask(["--prune", *options]), as_json)


def _ask(options: List[str]) -> Dict[str, Any]:
    command = [sys.executable, "-m", "ipulse_ops.build_cache.kept_executables", *options]
    done = subprocess.run(  # noqa: S603 (our own module, without a shell)
        command, capture_output=True, encoding="utf-8", check=False
    )
    last = (done.stderr.strip() or "it said nothing").splitlines()[-1]
    if done.returncode == _NO_LIMIT:
        raise InvalidInput([Problem("/limits", "no_limit", last)])
    if done.returncode != 0:
        raise MissingDependency(f"the caches could not be looked at: {last}")
    said: Dict[str, Any] = json.loads(done.stdout)
    return said


def _show(said: Dict[str, Any], as_json: bool) -> Exit:
    if as_json:
        emit(said)
        return Exit.OK
    for row in said["removed"]:
        show(f"removed {row['device']} {row['key'][:16]}, {size_text(row['bytes'])}")
    if said["executables"]:
        show_table(HEADERS, [_cells(row) for row in said["executables"]])
    limits = said["limits"]
    show(
        f"{len(said['executables'])} programs, {size_text(said['bytes'])}; of each kind of device "
        f"at most {size_text(limits['bytes'])}, for {limits['days']:g} days after their last use"
    )
    return Exit.OK


def _cells(row: Dict[str, Any]) -> List[str]:
    in_use = "in use" if row["in_use"] else ""
    return [row["device"], row["key"][:16], size_text(row["bytes"]), row["used_at"], in_use]
