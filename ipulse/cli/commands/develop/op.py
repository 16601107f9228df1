"""op: whether a library of custom ops meets the contract of TensorFlow for the IPU."""

from __future__ import annotations

import json
import subprocess  # the check runs in another process, which loads the library
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ipulse.cli.exits import Exit
from ipulse.cli.options import AsJSON
from ipulse.cli.terminal import emit, last_line, show
from ipulse.install_hint import require_modules
from ipulse_core.errors import InvalidInput, MissingDependency, Problem

_STYLES = {"error": "red", "warning": "yellow", "note": ""}
_NO_LIBRARY = 2  # exit code of the check if the file is not a library


def check_library(
    library: Annotated[
        Path, typer.Argument(metavar="LIB.so", help="The library.", show_default=False)
    ],
    op: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Name of an op to check. [default: every op that is found]"
        ),
    ] = None,
    level: Annotated[
        int,
        typer.Option(min=4, max=5, help="API level: 4 for SDK 2.0 to 2.2, 5 for SDK 2.3 to 3.4."),
    ] = 5,
    inputs: Annotated[int, typer.Option(min=1, help="Number of inputs of an op.")] = 3,
    pre_compile: Annotated[
        bool,
        typer.Option("--pre-compile", help="Treat an op that cannot be cached as an error."),
    ] = False,
    as_json: AsJSON = False,
) -> Exit:
    """Check a custom-op library without an IPU.

    Checks the API level and the symbols, and calls the metadata functions in a separate process.
    Exit code 0: usable; 2: not.
    """
    require_modules(["ipulse_ops"], "ipulse op check")
    report = _run_check(library, op or [], level, inputs, pre_compile)
    if as_json:
        emit(report)
    else:
        for finding in report["findings"]:
            op_name = f"{finding['op']}: " if finding["op"] else ""
            line = f"{finding['severity']}: {op_name}{finding['message']}"
            show(line, _STYLES[finding["severity"]])
        show(f"{library} is {'usable' if report['fine'] else 'not usable'}")
    return Exit.OK if report["fine"] else Exit.INVALID


def _run_check(
    library: Path, ops: list[str], level: int, inputs: int, pre_compile: bool
) -> dict[str, Any]:
    command = [sys.executable, "-m", "ipulse_ops.check", "--json", "--level", str(level)]
    command += ["--inputs", str(inputs), *(["--pre-compile"] if pre_compile else [])]
    for name in ops:
        command += ["--op", name]
    done = subprocess.run(  # noqa: S603 (our own module, without a shell)
        [*command, "--", str(library)], capture_output=True, text=True, check=False
    )
    if done.returncode == _NO_LIBRARY:
        raise InvalidInput([Problem("/library", "no_library", done.stderr.strip())])
    if not done.stdout:
        last = last_line(done.stderr)
        raise MissingDependency(f"the check did not run: {last}")
    report: dict[str, Any] = json.loads(done.stdout)
    return report
