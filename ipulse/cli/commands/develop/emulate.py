"""emulate: runs a Poplar host program, or a TensorFlow script, without an IPU."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess  # runs the compiler and the program
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperCommand

from ipulse.cli.options import AsJSON
from ipulse.cli.terminal import console, emit, say, write
from ipulse.install_hint import require_modules
from ipulse_core.errors import InvalidInput, IPUlseError, MissingDependency, Problem, Unavailable
from ipulse_core.pva.band import band_of
from ipulse_core.pva.figures import figures_of
from ipulse_core.pva.report import open_report

Target = Literal["ipu1", "ipu2", "ipu21"]
_DIAGNOSTIC = re.compile(r"^(\S[^:\n]*:\d+(?::\d+)?): (?:fatal )?error: (.*)$", re.M)
_SCRIPT = ".py"
_PROBLEMS = 20  # errors of a compiler that are shown
_SUMMARY = {"--steps": "showExecutionSteps", "--variables": "showVarStorage"}


class ProgramCommand(TyperCommand):
    """A command that passes on the arguments after `--`, which click would take for files.

    A script in Python has all arguments that follow it, as with `python`.
    """

    def parse_args(self, context: Any, args: list[str]) -> list[str]:
        """Store the arguments of the program in the context and parse the others."""
        script = next((at for at, word in enumerate(args) if word.endswith(_SCRIPT)), None)
        at = args.index("--") if "--" in args else len(args)
        if script is not None and script < at:
            rest = args[script + 1 :]
            context.obj = rest[1:] if rest[:1] == ["--"] else rest
            return super().parse_args(context, args[: script + 1])
        context.obj = args[at + 1 :]
        return super().parse_args(context, args[:at])

    def collect_usage_pieces(self, context: Any) -> list[str]:
        """Return the parts of the usage line."""
        return [*super().collect_usage_pieces(context), "[-- ARGUMENT...]"]


def emulate(
    context: typer.Context,
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE",
            help="C++ sources of the host program, or a TensorFlow script in Python with its "
            "arguments.",
            exists=True,
            dir_okay=False,
            show_default=False,
        ),
    ],
    codelets: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Codelets to compile to a .gp file, which the program loads by its name; "
            "may be repeated. Codelets that it loads as .cpp need no option.",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    ipus: Annotated[int, typer.Option(min=1, max=64, help="Number of attached IPUs.")] = 4,
    target: Annotated[Target, typer.Option(help="Architecture of the IPUs.")] = "ipu2",
    flag: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FLAG", help="Flag for the compiler, such as --flag=-DN=3; may be repeated."
        ),
    ] = None,
    steps: Annotated[
        bool, typer.Option("--steps", help="Show each step of the recorded runs.")
    ] = False,
    variables: Annotated[
        bool, typer.Option("--variables", help="Show the largest variables.")
    ] = False,
    profile: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            file_okay=False,
            help="Folder for profile.json and summary.txt; a second engine's go to DIR/2, ...",
        ),
    ] = None,
    sanitize: Annotated[
        bool,
        typer.Option(
            "--sanitize",
            help="Check the accesses of vertices to memory for bounds, alignment and races, and "
            "fill outputs with NaN first. The program runs slower; its cycles mean nothing.",
        ),
    ] = False,
    no_profile: Annotated[
        bool, typer.Option("--no-profile", help="Show only the program's own output.")
    ] = False,
    tf1: Annotated[
        bool, typer.Option("--tf1", help="The Python script is for TensorFlow 1.")
    ] = False,
    as_json: AsJSON = False,
) -> int:
    """Run a Poplar program or a TensorFlow script for the IPU on the emulator, show its profile.

    The program's output and exit status are passed through. The profile follows, in emulated
    cycles. With --json the program writes to standard error, and standard output is one object:
    exit_status, exception (null, or its class and message) and profiles, one for each engine; for
    a script, exit_status and its report.
    """
    if sources[0].suffix == _SCRIPT:
        return _run_script(sources[0], context.obj, ipus, profile, tf1, no_profile, as_json)
    require_modules(["poplar_emulator"], "ipulse emulate")
    with tempfile.TemporaryDirectory(prefix="ipulse-emulate-") as place:
        scratch = Path(place)
        reports = scratch / "reports"
        request = {
            "sources": [str(path) for path in sources],
            "codelets": [str(path) for path in codelets or []],
            "flags": flag or [],
            "arguments": context.obj,
            "sanitize": sanitize,
            "scratch": place,
        }
        shown = {
            _SUMMARY[o]: "true" for o, on in (("--steps", steps), ("--variables", variables)) if on
        }
        status = _run(request, reports, ipus, target, shown, as_json)
        exception = _json_of(reports / "exception.json")
        engines = list(_engines(reports))
        if as_json:
            profiles = [_json_of(folder / "profile.json") for folder in engines]
            emit({"exit_status": status, "exception": exception, "profiles": profiles}, indent=0)
        elif not no_profile:
            _show(engines)
        if exception:
            say(f"ipulse: {exception['type']}: {exception['message']}", style="red")
        if profile is not None:
            _keep(reports, profile)
        return status


def _run_script(
    script: Path,
    arguments: list[str],
    ipus: int,
    profile: Path | None,
    tf1: bool,
    no_profile: bool,
    as_json: bool,
) -> int:
    """Run a TensorFlow script; return its exit status."""
    name = "ipu_tensorflow_emulator"
    require_modules([name], "ipulse emulate with a script", "keras2", "ipu-tensorflow-emulator")
    with tempfile.TemporaryDirectory(prefix="ipulse-emulate-") as place:
        folder = Path(place) if profile is None else profile
        command = [sys.executable, "-m", name, "--ipus", str(ipus), "--report", str(folder)]
        command += [option for option, on in (("--tf1", tf1), ("--quiet", no_profile)) if on]
        if as_json and not no_profile:
            command.append("--quiet")
        sys.stdout.flush()
        done = subprocess.run(  # noqa: S603  # this interpreter, without a shell
            [*command, str(script), *arguments],
            stdout=sys.stderr.fileno() if as_json else None,
            check=False,
        )
        status = 128 - done.returncode if done.returncode < 0 else done.returncode
        if as_json:
            emit({"exit_status": status, "report": _json_of(folder / "report.json")}, indent=0)
    return status


def _run(
    request: dict[str, Any],
    reports: Path,
    ipus: int,
    target: str,
    shown: dict[str, str],
    as_json: bool,
) -> int:
    """Compile and run the program; return its exit status, 128 + N after signal N."""
    environment = {
        **os.environ,
        "IPULSE_EMULATOR_IPUS": str(ipus),
        "IPULSE_EMULATOR_ARCH": target,
        "IPULSE_EMULATOR_REPORTS": str(reports),
        "IPULSE_EMULATOR_SUMMARY": json.dumps(shown),
    }
    sys.stdout.flush()
    command = [sys.executable, "-m", "poplar_emulator.emulate", json.dumps(request)]
    with subprocess.Popen(  # noqa: S603  # this interpreter, without a shell
        command, env=environment, stdout=sys.stderr.fileno() if as_json else None
    ) as running:
        try:
            status = running.wait()
        except BaseException:
            running.terminate()
            raise
    failure = _json_of(Path(request["scratch"]) / "failure.json")
    if failure:
        raise _error(failure)
    return 128 - status if status < 0 else status


def _error(failure: dict[str, str]) -> IPUlseError:
    if failure["code"] == "missing_compiler":
        return MissingDependency(failure["message"])
    if failure["code"] != "compile_failed":
        return Unavailable(failure["message"])
    diagnostics = _DIAGNOSTIC.findall(failure["output"])[:_PROBLEMS]
    if not diagnostics:  # the linker names no line
        return InvalidInput([], f"{failure['message']}\n{failure['output'].strip()}")
    return InvalidInput(
        [Problem(at, "compile_error", words) for at, words in diagnostics], failure["message"]
    )


def _engines(reports: Path) -> Iterator[Path]:
    """Yield the folders with reports, in the order in which the engines ended."""
    if (reports / "profile.json").exists():
        yield reports
    folders = (path.parent for path in reports.glob("*/profile.json"))
    yield from sorted(folders, key=lambda folder: int(folder.name))


def _show(engines: list[Path]) -> None:
    if not engines:
        say("The program created no engine, so there is no profile.")
    out = console()
    for number, folder in enumerate(engines, 1):
        title = f"Engine {number} of {len(engines)}" if len(engines) > 1 else "Profile"
        write(out, f"\n{title} (emulated, not measured on an IPU)", "bold")
        write(out, (folder / "summary.txt").read_text(errors="replace").rstrip())
        cycles = figures_of(open_report(folder / "profile.json")).get("cycles")
        if cycles:
            write(out, f"\nCycles: {band_of(cycles).text}")


def _keep(reports: Path, to: Path) -> None:
    if reports.exists():
        shutil.copytree(reports, to, dirs_exist_ok=True)


def _json_of(path: Path) -> Any:
    return json.loads(path.read_text(errors="replace")) if path.exists() else None
