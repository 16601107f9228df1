"""How a shell starts this program, so that printed commands can be copied as they are."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from pathlib import Path
from typing import NoReturn

PROGRAM = "ipulse"
# A command in a message: in backticks, as in `ipulse up`.
_QUOTED = re.compile(r"`ipulse(?=[ `])")


def program() -> str:
    """Return the words that start this program: `ipulse` if the shell finds it, else its path."""
    called = Path(sys.argv[0])
    if called.name != "ipulse":  # python -m ipulse
        return f"{_shown(Path(sys.executable))} -m ipulse"
    found = shutil.which("ipulse")
    if found and called.exists() and os.path.samefile(found, called):
        return "ipulse"
    return _shown(called)


def as_called(text: str) -> str:
    """Return a message with every quoted `ipulse ...` as a command that this shell finds."""
    if "`ipulse" not in text:
        return text
    return _QUOTED.sub(lambda _: f"`{program()}", text)


def replace_process(*arguments: str) -> NoReturn:
    """Replace this process by the command `ipulse` with other arguments."""
    sys.stdout.flush()
    sys.stderr.flush()
    called = Path(sys.argv[0])
    start = [str(called)] if called.name == "ipulse" else ["-m", "ipulse"]
    os.execv(sys.executable, [sys.executable, *start, *arguments])  # noqa: S606 - no shell


def _shown(path: Path) -> str:
    """Return the path in a shell's notation, relative if it is below the current directory."""
    path = path.absolute()  # links are kept: the Python of an environment is one
    try:
        path = path.relative_to(Path.cwd())
    except (ValueError, FileNotFoundError):  # elsewhere, or the directory was removed
        return shlex.quote(str(path))
    return shlex.quote(str(path) if path.parent.name else f"./{path}")
