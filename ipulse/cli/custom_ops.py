"""ops: whether a library of custom ops honours TensorFlow's contract for the IPU."""

from __future__ import annotations

import json
import subprocess  # the check's process, which loads what it checks
import sys
from pathlib import Path
from typing import Annotated, Any, Dict, List, Optional

import typer

from ipulse_core.errors import InvalidInput, MissingDependency, Problem

from .exits import Exit
from .options import AsJSON
from .terminal import emit, show

_STYLES = {"error": "red", "warning": "yellow", "note": ""}
_NO_LIBRARY = 2  # what the check ends with where there is nothing to check


def check_library(
    library: Annotated[
        Path, typer.Argument(metavar="LIB.so", help="The library.", show_default=False)
    ],
    op: Annotated[
        Optional[List[str]],
        typer.Option(metavar="NAME", help="An op in it, unless all that can be recognised."),
    ] = None,
    level: Annotated[
        int,
        typer.Option(min=4, max=5, help="API level: 4 for SDK 2.0 to 2.2, 5 for SDK 2.3 to 3.4."),
    ] = 5,
    inputs: Annotated[int, typer.Option(min=1, help="Inputs that an op has.")] = 3,
    pre_compile: Annotated[
        bool,
        typer.Option("--pre-compile", help="An op that cannot be cached is an error."),
    ] = False,
    as_json: AsJSON = False,
) -> Exit:
    """Check a library of custom ops before it meets an IPU. 0 if it is fit for use, else 2.

    Its API level, symbols and metadata, which are called in a process of their own, with canaries.
    """
    said = _ask(library, op or [], level, inputs, pre_compile)
    if as_json:
        emit(said)
    else:
        for finding in said["findings"]:
            of = f"{finding['op']}: " if finding["op"] else ""
            show(f"{finding['severity']}: {of}{finding['message']}", _STYLES[finding["severity"]])
        show(f"{library} is {'fit' if said['fine'] else 'not fit'} for use")
    return Exit.OK if said["fine"] else Exit.INVALID


def _ask(
    library: Path, ops: List[str], level: int, inputs: int, pre_compile: bool
) -> Dict[str, Any]:
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
        last = (done.stderr.strip() or "it said nothing").splitlines()[-1]
        raise MissingDependency(f"the check did not run: {last}")
    said: Dict[str, Any] = json.loads(done.stdout)
    return said
