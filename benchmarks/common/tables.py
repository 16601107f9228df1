"""Store a topic's results as one small CSV table, and print tables as Markdown."""

from __future__ import annotations

import csv
import datetime
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.common import machine

Row = dict[str, Any]
ROOT = Path(__file__).resolve().parents[2]


def rounded(value: Any) -> Any:
    """Round floats to four digits: clocks here are not more precise."""
    return float(f"{value:.4g}") if isinstance(value, float) else value


def write_table(path: Path, rows: Sequence[Row], command: str) -> None:
    """Write rows as CSV, below comments that name the command, the commit and the machine."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", newline="") as file:
        file.write(f"# command: {command}\n# commit: {commit()}\n")
        file.write(f"# date: {datetime.date.today()}\n# machine: {machine.summary_line()}\n")
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: rounded(value) for name, value in row.items()} for row in rows)


def read_table(path: Path) -> tuple[dict[str, str], list[dict[str, str]]]:
    """Return the comments of a table (command, commit, machine ...) and its rows."""
    lines = path.read_text("utf-8").splitlines()
    comments = [line[2:].partition(": ") for line in lines if line.startswith("# ")]
    rows = csv.DictReader(line for line in lines if not line.startswith("# "))
    return {key: value for key, _, value in comments}, list(rows)


def markdown(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table; the columns after the first are right-aligned."""
    lines: Iterator[Sequence[object]] = iter([heads, ["---", *("---:" for _ in heads[1:])], *rows])
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def finish(rows: Sequence[Row], output: Path | None) -> None:
    """Print the rows as a Markdown table, and write them to `output` if it is given."""
    if not rows:
        return
    columns = list(dict.fromkeys(name for row in rows for name in row))
    print(markdown(columns, [[rounded(row.get(name, "")) for name in columns] for row in rows]))
    if output is not None:
        write_table(output, rows, command())
        print(f"wrote {output}", file=sys.stderr)


def commit() -> str:
    """Return the commit of the working tree; "+" says that files differ from it."""

    def git(*arguments: str) -> str:
        command = ["git", *arguments]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.strip()

    changed = "+" if git("status", "--porcelain", "--untracked-files=no") else ""
    return (git("rev-parse", "--short", "HEAD") or "unknown") + changed


def command() -> str:
    """Return the command that runs now."""
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    module = str(spec.name).removesuffix(".__main__") if spec else Path(sys.argv[0]).stem
    return " ".join(["python -m", module, *sys.argv[1:]])
