"""Run the programs of examples/questions on the emulator, and print their tables.

    python -m benchmarks.emulator questions             every program, some minutes
    python -m benchmarks.emulator questions step tiles
    python -m benchmarks.emulator questions --write     also put them into docs/explanation/ipu_*.md
    python -m benchmarks.emulator questions --check     exit code 1 if the pages differ

All cycles are emulated. A program prints a line per case; question_tables.py selects the columns.
"""

from __future__ import annotations

import re
import subprocess
import sys

from benchmarks.common import command_line
from benchmarks.common.tables import ROOT, Row, commit
from benchmarks.emulator.question_tables import RENDERERS, draw

FOLDER = ROOT / "examples" / "questions"
PAGES = ROOT / "docs" / "explanation"
IMAGES = ROOT / "docs" / "images"
PICTURES = ("activity", "step")
SHARED = ("codelets", "gradient_codelets")  # sources that every program shares

_GAP = re.compile(r"\s{2,}")
_BLOCK = r"<!-- figures: {}[^>]* -->\n.*?<!-- end of figures -->"


def programs() -> list[str]:
    """Return the names of the programs."""
    return sorted(path.stem for path in FOLDER.glob("*.cpp") if path.stem not in SHARED)


def cases(output: str) -> list[Row]:
    """Parse the lines of a program: `case`, `at` and its figures by name. Raises ValueError."""
    first, *lines = output.splitlines()
    heads = _GAP.split(first.strip())
    if heads[:2] != ["case", "at"] or not lines:
        raise ValueError(f"not a table of a question: {output[:200]!r}")
    rows = []
    for line in lines:
        name, *figures = _GAP.split(line.strip())
        rows.append(dict(zip(heads, [name, *map(int, figures)], strict=True)))
    return rows


def run(name: str) -> list[Row]:
    """Return the cases of a program under `ipulse emulate`. Raises CalledProcessError."""
    command = [sys.executable, "-m", "ipulse", "emulate", str(FOLDER / f"{name}.cpp")]
    done = subprocess.run([*command, "--no-profile"], stdout=subprocess.PIPE, text=True, check=True)
    return cases(done.stdout)


def block(name: str, rows: list[Row], measured_at: str) -> str:
    """Return a program's part of a page: its command and its tables."""
    command = f"ipulse emulate examples/questions/{name}.cpp --no-profile"
    head = f"<!-- figures: {name}, measured at {measured_at} -->"
    return f"{head}\n\n`{command}`\n\n{RENDERERS[name](rows)}\n\n<!-- end of figures -->"


def replaced(page: str, name: str, text: str) -> str:
    """Return the page with the part of a program replaced, if it has one."""
    return re.sub(_BLOCK.format(name), lambda _: text, page, flags=re.DOTALL)


def is_stale(page: str, name: str, text: str) -> bool:
    """Return whether the page has a part of this program, and its tables are not those of `text`.

    The commit does not count: figures of an older commit are right as long as they are the same.
    """
    return any(
        _tables(part) != _tables(text)
        for part in re.findall(_BLOCK.format(name), page, flags=re.DOTALL)
    )


def _tables(part: str) -> list[str]:
    return [line for line in part.splitlines() if line.startswith("|")]


def main(arguments: list[str]) -> int:
    """Run the command line; return its exit code."""
    parser = command_line.parser("emulator questions", __doc__, has_output=False)
    parser.add_argument("names", nargs="*", choices=[[], *programs()], metavar="PROGRAM")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--write", action="store_true", help="update the pages and pictures")
    action.add_argument("--check", action="store_true", help="compare the pages with the tables")
    options = parser.parse_args(arguments)
    pages = list(PAGES.glob("ipu_*.md"))
    stale = 0
    measured_at = commit()
    for name in options.names or programs():
        rows = run(name)
        text = block(name, rows, measured_at)
        if options.check:
            for path in pages:
                if is_stale(path.read_text("utf-8"), name, text):
                    stale += 1
                    print(f"{path.relative_to(ROOT)}: the figures of {name} are stale", flush=True)
            continue
        print(f"{text}\n", flush=True)
        if options.write:
            for path in pages:
                path.write_text(replaced(path.read_text("utf-8"), name, text), "utf-8")
            if name in PICTURES:
                draw(name, rows, IMAGES)
    if options.check and not stale:
        print("The pages have these figures.")
    return 1 if stale else 0
