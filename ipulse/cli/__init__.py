"""The command line: `ipulse`, or `python -m ipulse`."""

from __future__ import annotations

import os
import signal
import sys

VARIABLE = "_IPULSE_COMPLETE"  # a shell sets it to ask for completions


def main(arguments: list[str] | None = None) -> int:
    """Run one command; return its exit code (see ipulse.cli.exits)."""
    try:
        return _run(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:  # during the imports; commands handle it themselves
        print("Interrupted.", file=sys.stderr)  # noqa: T201  # rich is not imported yet
        return 130
    finally:
        if arguments is None:  # the program ends: another Ctrl-C would print a traceback
            signal.signal(signal.SIGINT, signal.SIG_IGN)


def _run(arguments: list[str]) -> int:
    if VARIABLE in os.environ:
        from .quick_completion import answer

        answered = answer()
        if answered is not None:
            return answered
    from ipulse_core.errors import MissingDependency

    try:
        import typer  # noqa: F401  # imported first, so that its absence is explained
    except ImportError:
        from ipulse.install_hint import install_hint

        message = f"ipulse: the command line is not installed: {install_hint('cli')}"
        print(message, file=sys.stderr)  # noqa: T201  # rich is not installed
        return 5
    try:
        from .app import run
    except MissingDependency as error:
        print(f"ipulse: {error}", file=sys.stderr)  # noqa: T201  # rich may be missing
        return 5
    return run(arguments)
