"""What the service bears, beside other job services in the same run.

    python -m benchmarks.service                       every part on its own sides
    python -m benchmarks.service --part rate --side sqlite --side celery
    python -m benchmarks.service --quick               small numbers: whether it works
    python -m benchmarks.service --report              only writes docs/load.md from the results

Each part starts each side afresh, in an empty directory, with real processes, a real Redis and a
real disk. As root it runs in a network namespace of its own: see `benchmarks.load.isolation`.
"""

from __future__ import annotations

import argparse
import compileall
import contextlib
import gc
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import machine
from benchmarks.load.isolation import isolate
from benchmarks.load.page import PAGE, written
from benchmarks.load.parts import PARTS, Part
from benchmarks.load.processors import all_of_them, pin_clients
from benchmarks.load.programs import ROOT
from benchmarks.load.sides import ENVIRONMENTS, NAMES, Missing, opened, python_for
from benchmarks.results import DIRECTORY, rounded
from ipulse.cli.signals import terminable

RESULTS = DIRECTORY / "service.json"
PACKAGES = ("ipulse", "service", "worker", "ops", "benchmarks")  # that the sides consist of


def main() -> int:
    options = _options()
    if options.report:
        PAGE.write_text(written(json.loads(RESULTS.read_text())))
        return 0
    parts = {name: PARTS[name] for name in options.part or PARTS}
    _install({side for part in parts.values() for side in options.side or part.sides})
    isolate("benchmarks.service")
    with terminable():  # the services have sessions of their own: nobody else would end them
        return _measure_all(parts, options)


def _measure_all(parts: dict[str, Part], options: argparse.Namespace) -> int:
    _compile()
    found: dict[str, Any] = {"machine": machine.description(), "parts": {}}
    if RESULTS.exists() and not options.quick:
        before = json.loads(RESULTS.read_text())
        if machine.is_this(before["machine"]):
            found["parts"] = before["parts"]
    pin_clients()
    gc.freeze()  # else a look through the clients' modules makes one answer 60 ms late
    began = time.monotonic()
    calm = Calm(0.0 if options.quick else options.waiting)
    for name, part in parts.items():
        if time.monotonic() - began > options.minutes * 60:
            print(f"{name:12} not measured: {options.minutes:g} minutes are over", flush=True)
            continue
        sides = [side for side in options.side or part.sides if side in part.possible]
        if not sides:
            continue
        measured = measure(name, part, sides, options.quick, calm)
        # Beside what is measured now, figures of another run may stand only for other parts.
        found["parts"][name] = measured
        if not options.quick:
            RESULTS.write_text(json.dumps(rounded(found), indent=1) + "\n")
    if options.json:
        print(json.dumps(rounded(found)))
    elif not options.quick:
        PAGE.write_text(written(rounded(found)))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", action="append", choices=tuple(PARTS))
    parser.add_argument("--side", action="append", choices=NAMES)
    parser.add_argument("--quick", action="store_true", help="and keep no results")
    parser.add_argument("--report", action="store_true", help="only write docs/load.md")
    parser.add_argument(
        "--minutes", type=float, default=22.0, help="begin no part after so long (%(default)s)"
    )
    parser.add_argument(
        "--waiting",
        type=float,
        default=180.0,
        help="seconds of the whole run, at most, to wait before a side while other guests of the "
        "host take part of the processors (%(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object at the end")
    return parser.parse_args()


def _compile() -> None:
    """As an installer does, so that no start compiles what another one has: where Python may not
    write bytecode, each would."""
    for package in PACKAGES:
        compileall.compile_dir(ROOT / package, quiet=1)


def _install(sides: set[str]) -> None:
    """Makes the environments while there is still a network; who lacks one says so in its turn."""
    for side in sorted(sides & set(ENVIRONMENTS)):
        with contextlib.suppress(Missing):
            python_for(side)


class Calm:
    """What is left of the time to wait for processors that nobody else takes part of."""

    def __init__(self, seconds: float) -> None:
        self._left = seconds

    def wait(self) -> None:
        with all_of_them():
            self._left -= machine.await_quiet(self._left)


def measure(name: str, part: Part, sides: list[str], is_quick: bool, calm: Calm) -> dict[str, Any]:
    """One part on each side: {its name: {"promise", "figures", "seconds", "lost"}}, or {"missing"}.

    lost: processors that other guests took, before and after on average: see machine.lost.
    """
    rows: dict[str, Any] = {}
    for kind in sides:
        calm.wait()
        before = _lost()
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as directory:
            try:
                with opened(kind, Path(directory) / "home", part.is_whole) as side:
                    figures = part.measure(side, Path(directory), is_quick)
            except Missing as error:
                rows[kind] = {"missing": str(error)}
                print(f"{name:12} {kind:20} not measured: {error}", flush=True)
                continue
        took = time.monotonic() - began
        lost = (before + _lost()) / 2
        rows[side.name] = {
            "promise": side.promise,
            "figures": figures,
            "seconds": took,
            "lost": lost,
        }
        print(f"{name:12} {side.name:20} {took:5.1f} s  {json.dumps(rounded(figures))[:400]}")
    return rows


def _lost() -> float:
    with all_of_them():
        return machine.lost()


if __name__ == "__main__":
    raise SystemExit(main())
