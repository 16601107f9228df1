"""op new and op test: a project of a custom op, and its comparison with a NumPy reference."""

from __future__ import annotations

import json
import subprocess  # the op and its reference run in another process
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ipulse.cli.exits import Exit
from ipulse.cli.options import AsJSON
from ipulse.cli.terminal import emit, last_line, say, show
from ipulse.install_hint import require_modules
from ipulse_core.errors import Conflict, InvalidInput, IPUlseError, Problem, Unavailable
from ipulse_core.pva.band import band_of


def new_op(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="Name of the op, an identifier.", show_default=False),
    ],
    to: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of the project. [default: ./NAME]")
    ] = None,
    layer: Annotated[
        bool,
        typer.Option("--layer", help="An op to push, and to train as a layer of a network."),
    ] = False,
    as_json: AsJSON = False,
) -> Exit:
    """Write a new custom op that works, to be changed.

    Its files are the host source, the codelets, the gradient, a NumPy reference, a description of
    its tensors (op.json) and a test.
    """
    require_modules(["poplar_emulator"], "ipulse op new")
    written = _run("new", name, str(to or Path(name)), *(["--layer"] if layer else []))
    if as_json:
        emit(written)
    else:
        for path in written["files"]:
            show(path)
        say(f"`ipulse op test {to or name}` builds it for the emulator and checks it.")
    return Exit.OK


def compare_op(
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="Folder with op.json.", show_default=False),
    ],
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of the inputs.")] = 0,
    as_json: AsJSON = False,
) -> Exit:
    """Compare a custom op on the emulator, and its CPU kernel, with its NumPy reference.

    Outputs are compared with the reference, gradients with differences of it. Every vertex is
    checked for writes beside its fields. Exit code 0: equal within the tolerance; 1: not.
    The op and its reference are run: test only code that you trust.
    """
    require_modules(["poplar_emulator"], "ipulse op test")
    report = _run("test", str(folder), "--seed", str(seed))
    if as_json:
        emit(report)
    else:
        for one in report["comparisons"]:
            verdict = "equal" if one["is_good"] else "differs"
            line = f"{one['what']}: {verdict}, error {one['error']:.1e} of {one['tolerance']:.0e}"
            show(line, "" if one["is_good"] else "red")
        result = "as its reference" if report["is_good"] else "not as its reference"
        cycles = "no Poplar part"
        if report["cycles"]:
            cycles = f"{report['cycles']:,} emulated cycles, {band_of(report['cycles']).text}"
        show(f"{report['name']} is {result} (seed {seed}; {cycles})")
    return Exit.OK if report["is_good"] else Exit.JOB_FAILED


def _run(*arguments: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "poplar_emulator.op_project", *arguments]
    done = subprocess.run(  # noqa: S603 (our own module, without a shell)
        command, stdout=subprocess.PIPE, text=True, check=False
    )
    last = last_line(done.stdout)  # the op or its reference may have printed before
    try:
        result: dict[str, Any] = json.loads(last)
    except ValueError:
        raise Unavailable(f"the test ended with exit code {done.returncode}: {last}") from None
    if "error" in result:
        raise _error(result["error"])
    return result


def _error(error: dict[str, Any]) -> IPUlseError:
    problems = [Problem(p["pointer"], p["code"], p["detail"]) for p in error["problems"]]
    if error["code"] == Conflict.code:
        return Conflict(error["message"])
    return InvalidInput(problems, error["message"])
