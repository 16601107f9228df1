"""cache: compiled programs of emulated and real IPUs, and builds of ops, that are cached here."""

from __future__ import annotations

import json
import subprocess  # runs the module of the build cache
import sys
from typing import Annotated, Any

import typer

from ipulse.cli.exits import Exit
from ipulse.cli.options import AsJSON, Yes
from ipulse.cli.tables import show_table
from ipulse.cli.terminal import confirm, emit, last_line, show, size_text
from ipulse.install_hint import require_modules
from ipulse_core.errors import InvalidInput, MissingDependency, Problem

HEADERS = ("device", "key", "size", "last used", "")
_NO_LIMIT = 2  # exit code of the module for an invalid limit


def list_executables(as_json: AsJSON = False) -> Exit:
    """List the cached programs and ops of this machine and the limits of the cache."""
    return _show(_run_cache([]), as_json)


def prune_executables(
    size: Annotated[
        int | None,
        typer.Option(
            "--bytes",
            min=0,
            help="Bytes to keep for each kind of device. [default: the worker's limit]",
        ),
    ] = None,
    days: Annotated[
        float | None,
        typer.Option(min=0, help="Days to keep since the last use. [default: the worker's limit]"),
    ] = None,
    yes: Yes = False,
    as_json: AsJSON = False,
) -> Exit:
    """Remove cached programs that are old, then the least recently used ones.

    Programs in use stay. `--bytes 0` removes all others; they are compiled again when needed.
    """
    options = [] if size is None else ["--bytes", str(size)]
    options += [] if days is None else ["--days", str(days)]
    if not yes:
        beyond = _run_cache(["--beyond", *options])["removed"]
        amount = size_text(sum(row["bytes"] for row in beyond))
        confirm("remove", f"{len(beyond):,} cached programs and ops, {amount}", yes)
    return _show(_run_cache(["--prune", *options]), as_json)


def _run_cache(options: list[str]) -> dict[str, Any]:
    require_modules(["ipulse_ops"], "ipulse cache")
    command = [sys.executable, "-m", "ipulse_ops.build_cache.kept_executables", *options]
    done = subprocess.run(  # noqa: S603 (our own module, without a shell)
        command, capture_output=True, encoding="utf-8", check=False
    )
    last = last_line(done.stderr)
    if done.returncode == _NO_LIMIT:
        raise InvalidInput([Problem("/limits", "no_limit", last)])
    if done.returncode != 0:
        raise MissingDependency(f"the cache could not be read: {last}")
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def _show(report: dict[str, Any], as_json: bool) -> Exit:
    if as_json:
        emit(report)
        return Exit.OK
    for row in report["removed"]:
        show(f"removed {row['device']} {row['key'][:16]}, {size_text(row['bytes'])}")
    if report["executables"]:
        show_table(HEADERS, [_cells(row) for row in report["executables"]])
    limits = report["limits"]
    show(
        f"{len(report['executables'])} programs and ops, {size_text(report['bytes'])}; "
        f"limits: {size_text(limits['bytes'])} for each kind of device, "
        f"{size_text(limits['op_bytes'])} for ops, {limits['days']:g} days after the last use"
    )
    return Exit.OK


def _cells(row: dict[str, Any]) -> list[str]:
    in_use = "in use" if row["in_use"] else ""
    return [row["device"], row["key"][:16], size_text(row["bytes"]), row["used_at"], in_use]
