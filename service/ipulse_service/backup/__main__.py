"""The commands where `ipulse` is not installed, as in the image of the service.

python -m ipulse_service.backup make FILE | restore FILE | migrate URL
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from ipulse_core.errors import IPUlseError
from ipulse_service.backup import commands


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command with the settings of the service; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m ipulse_service.backup")
    choices = parser.add_subparsers(dest="command", required=True)
    for name in ("make", "restore"):
        command = choices.add_parser(name)
        command.add_argument("file", type=Path)
        command.add_argument("--no-keys", action="store_true")
        command.add_argument("--project", default="")
    command.add_argument("--replace", action="store_true")
    choices.add_parser("migrate").add_argument("url")
    chosen = parser.parse_args(arguments)
    try:
        if chosen.command == "make":
            done = commands.backup(os.environ, chosen.file, not chosen.no_keys, chosen.project)
        elif chosen.command == "restore":
            done = commands.restore(
                os.environ, chosen.file, not chosen.no_keys, chosen.replace, chosen.project
            )
        else:
            done = commands.migrate(os.environ, chosen.url)
    except (IPUlseError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 5
    sys.stdout.write(json.dumps(done, indent=2) + "\n")
    return 6 if done.get("missing") else 0


if __name__ == "__main__":
    sys.exit(main())
