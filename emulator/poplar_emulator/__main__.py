"""Compiles and runs a Poplar program without an IPU: `poplar-emulator FILE.cpp`."""

from __future__ import annotations

import argparse
import json
import subprocess  # runs the program
import sys
import tempfile
from pathlib import Path
from typing import Any, List, Optional

from ipulse_core.build_cache.toolchain import NativeError
from ipulse_core.pva.band import band_of
from ipulse_core.pva.conditions import Condition, broken, parse_condition
from ipulse_core.pva.figures import figures_of
from ipulse_core.pva.report import open_report
from poplar_emulator.build import build
from poplar_emulator.emulate import compile_codelets, compile_program, environment_of

BROKEN_GATE = 3  # exit status


class _PrintPrefix(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: Any, **__: Any) -> None:
        try:
            sys.stdout.write(f"{build()}\n")
        except NativeError as error:
            parser.exit(1, f"{parser.prog}: {error}\n")
        parser.exit()


def _gate(text: str) -> Condition:
    try:
        return parse_condition(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def main(arguments: Optional[List[str]] = None) -> int:
    """Run the command and return the program's exit status, or BROKEN_GATE."""
    parser = argparse.ArgumentParser(
        prog="poplar-emulator",
        description="Compile and run a Poplar host program on the emulator, then print its "
        "profile in emulated cycles. A C++17 compiler must be installed.",
    )
    parser.add_argument("sources", nargs="+", metavar="FILE", help="C++ source of the program")
    parser.add_argument(
        "--codelets",
        action="append",
        default=[],
        metavar="FILE",
        help="compile these codelets to a .gp file, which the program finds by its name; may be "
        "repeated",
    )
    parser.add_argument("--ipus", type=int, default=4, help="attached IPUs (default: 4)")
    parser.add_argument(
        "--target", choices=("ipu1", "ipu2", "ipu21"), default="ipu2", help="their architecture"
    )
    parser.add_argument(
        "--flag",
        action="append",
        default=[],
        metavar="FLAG",
        help="for the compiler, as --flag=-DN=3; may be repeated",
    )
    parser.add_argument(
        "--sanitize",
        action="store_true",
        help="check that no vertex writes beside its fields, and fill outputs with NaN first",
    )
    parser.add_argument(
        "--gate",
        action="append",
        default=[],
        type=_gate,
        metavar="CONDITION",
        help="a condition that the profile of each engine must meet, as 'cycles<=5e6' or "
        f"'max_tile_memory<600KiB'; otherwise the exit status is {BROKEN_GATE}; may be repeated",
    )
    parser.add_argument(
        "--prefix",
        action=_PrintPrefix,
        nargs=0,
        help="print the path of the folder with include/, lib/, bin/ and enable.sh, and exit",
    )
    parser.add_argument("--no-profile", action="store_true", help="print the program's output only")
    parser.epilog = "Arguments after -- are passed to the program."
    words = sys.argv[1:] if arguments is None else arguments
    at = words.index("--") if "--" in words else len(words)
    options = parser.parse_args(words[:at])
    missing = [path for path in (*options.sources, *options.codelets) if not Path(path).is_file()]
    if missing:
        parser.error(f"{missing[0]}: no such file")
    with tempfile.TemporaryDirectory(prefix="poplar-emulator-") as scratch:
        try:
            return _run(options, words[at + 1 :], Path(scratch))
        except NativeError as error:
            sys.stderr.write(f"{getattr(error, 'output', '')}cannot run {options.sources[0]}: ")
            sys.stderr.write(f"{error}\n")
            return 1
        except KeyboardInterrupt:
            return 130


def _run(options: argparse.Namespace, arguments: List[str], scratch: Path) -> int:
    program = scratch / Path(options.sources[0]).stem
    for source in options.codelets:
        compile_codelets(source, scratch)
    compile_program(options.sources, program, options.flag)
    reports = scratch / "reports"
    environment = {
        **environment_of(options.sources, scratch, options.sanitize),
        "IPULSE_EMULATOR_IPUS": str(options.ipus),
        "IPULSE_EMULATOR_ARCH": options.target,
        "IPULSE_EMULATOR_REPORTS": str(reports),
        "IPULSE_EMULATOR_SUMMARY": json.dumps({}),
    }
    sys.stdout.flush()
    done = subprocess.run(  # noqa: S603 (the user's own program, without a shell)
        [str(program), *arguments], env=environment, check=False
    )
    if not options.no_profile:
        for summary in sorted(reports.rglob("summary.txt")):  # one for each engine
            text = summary.read_text(errors="replace").rstrip()
            sys.stdout.write(f"\nProfile (emulated, not measured on an IPU)\n{text}\n")
            cycles = figures_of(open_report(summary.with_name("profile.json"))).get("cycles")
            if cycles:
                sys.stdout.write(f"\nCycles: {band_of(cycles).text}\n")
    uncaught = reports / "exception.json"
    if uncaught.is_file():  # the emulator writes it instead of the C++ library's own message
        error = json.loads(uncaught.read_text("utf-8"))
        sys.stderr.write(f"{options.sources[0]}: {error['type']}: {error['message']}\n")
    status = 128 - done.returncode if done.returncode < 0 else done.returncode
    missed = _missed(options.gate, reports)
    for line in missed:
        sys.stderr.write(f"{options.sources[0]}: the profile does not meet a gate: {line}\n")
    return BROKEN_GATE if missed and status == 0 else status


def _missed(gates: List[Condition], reports: Path) -> List[str]:
    """Return the gates that the profile of an engine breaks, each with the value and once."""
    profiles = sorted(reports.rglob("profile.json")) if gates else []
    figures = [figures_of(open_report(path)) for path in profiles] or [{}]
    return list(dict.fromkeys(line for of_one in figures for line in broken(gates, of_one)))


if __name__ == "__main__":
    sys.exit(main())
