"""The programs of examples/questions on the emulator, and their figures in docs/questions.md.

python -m benchmarks.questions            runs those whose figures are stale; writes results,
                                          tables and plots
python -m benchmarks.questions activity   runs this one in any case
python -m benchmarks.questions --check    says which are stale, and runs nothing: 1 if any is
python -m benchmarks.questions --tables   writes tables and plots from the results there are

Every figure is emulated. Programs print a line a case; benchmarks/question_tables.py says what of
it is shown, and where.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import subprocess
import sys
from pathlib import Path

from benchmarks import question_tables
from benchmarks.results import DIRECTORY, Results, Row

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "examples" / "questions"
# What every program shares; the rest are programs.
SHARED = ("codelets", "question")
# What the figures are: see Table in examples/questions/question.h.
_GAP = re.compile(r"\s{2,}")


def programs() -> list[str]:
    """Their names."""
    return sorted(path.stem for path in FOLDER.glob("*.cpp") if path.stem not in SHARED)


def question_of(name: str) -> str:
    """The comment that a program begins with."""
    words = []
    for line in (FOLDER / f"{name}.cpp").read_text("utf-8").splitlines():
        if not line.startswith("//"):
            break
        words.append(line[2:].strip())
    return " ".join(words)


def cases(output: str) -> list[Row]:
    """A program's lines: `case`, `at` and its figures by name. Raises ValueError."""
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
    """What the program prints under `ipulse emulate`. Raises CalledProcessError."""
    command = [sys.executable, "-m", "ipulse", "emulate", str(FOLDER / f"{name}.cpp")]
    done = subprocess.run([*command, "--no-profile"], stdout=subprocess.PIPE, text=True, check=True)
    return cases(done.stdout)


def program_digest(name: str) -> str:
    """Of a program and what it shares with the others: one that changed is measured again."""
    return _digest([FOLDER / file for file in (f"{name}.cpp", "codelets.cpp", "question.h")])


def emulator_digest() -> str:
    """Of what else the figures hang on, besides the compiler."""
    files = (ROOT / "emulator").glob("**/*")
    return _digest([path for path in files if path.suffix in (".cc", ".h", ".hpp")])


def settings_of(name: str) -> Row:
    """What a program's figures hang on: with others they are stale."""
    return {"program_digest": program_digest(name), "emulator_digest": emulator_digest()}


def stale() -> list[str]:
    """Programs that were never measured, or not with these sources."""
    rows = Results("questions", ("program",), {}, DIRECTORY)
    kept = {row["program"]: row["settings"] for row in rows}
    return [
        name for name in programs() if not settings_of(name).items() <= kept.get(name, {}).items()
    ]


def _digest(sources: list[Path]) -> str:
    content = b"".join(path.name.encode() + path.read_bytes() for path in sorted(sources))
    return hashlib.sha256(content).hexdigest()[:12]


def main(arguments: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser("python -m benchmarks.questions", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *programs()], metavar="PROGRAM")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--tables", action="store_true", help="run nothing")
    which.add_argument("--check", action="store_true", help="say which figures are stale")
    given = parser.parse_args(arguments)
    if given.check:
        found = stale()
        print("\n".join(f"stale: {name}" for name in found) or "all figures are of these sources")
        return 1 if found else 0
    for name in [] if given.tables else given.names or stale():
        results = Results("questions", ("program",), settings_of(name), DIRECTORY)
        results.put({"program": name, "question": question_of(name), "cases": run(name)})
        print(name, flush=True)
    question_tables.write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
