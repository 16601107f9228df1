"""The command line of the benchmark programs: one subcommand per module."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path

# TensorFlow logs its build at level 2. Set before any subcommand imports it.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


def run(program: str, description: str | None, commands: Mapping[str, str]) -> int:
    """Run the subcommand of `sys.argv`; return its exit code, 2 for an unknown one.

    commands: the module of each subcommand, below the package `program`.
    """
    command, *arguments = sys.argv[1:] or ["--help"]
    if command in ("-h", "--help"):
        print((description or "").strip())
        return 0
    if command not in commands:
        print(f"no command {command!r}: use one of {', '.join(commands)}", file=sys.stderr)
        return 2
    module = importlib.import_module(f"{program}.{commands[command]}")
    return int(module.main(arguments) or 0)


def parser(
    command: str, description: str | None, has_output: bool = True
) -> argparse.ArgumentParser:
    """Return the parser of a subcommand, with the option --output unless it writes no table."""
    result = argparse.ArgumentParser(
        f"python -m benchmarks.{command}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    if has_output:
        result.add_argument("--output", type=Path, metavar="FILE", help="write the table as CSV")
    return result
