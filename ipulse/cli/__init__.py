"""The command line: `ipulse`, or `python -m ipulse`."""

from __future__ import annotations

import gc
import os
import signal
import sys

VARIABLE = "_IPULSE_COMPLETE"  # a shell sets it to ask for completions
# httpx and httpcore import them wherever they are installed, for 0.1 s; no command uses them.
_UNUSED = ("httpx._main", "trio")
# New objects between two searches for garbage; with Python's 700 they are a twentieth of `list`.
_COLLECT_EVERY = 50_000


def main(arguments: list[str] | None = None) -> int:
    """Run one command; return its exit code (see ipulse.cli.exits)."""
    if arguments is None:  # a program of its own: what else runs in a process may need them
        sys.modules.update(dict.fromkeys(_UNUSED))  # type: ignore[arg-type]  # None: not found
        gc.set_threshold(_COLLECT_EVERY)
    try:
        return _run(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:  # during the imports; commands handle it themselves
        print("Interrupted.", file=sys.stderr)  # noqa: T201  # rich is not imported yet
        return 130
    finally:
        if arguments is None:  # the program ends: another Ctrl-C would print a traceback
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            gc.disable()  # its memory goes with it


def _run(arguments: list[str]) -> int:
    if VARIABLE in os.environ:
        from .quick_completion import answer

        answered = answer()
        if answered is not None:
            return answered
    if arguments == ["--version"] and _print_version():
        return 0
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


def _print_version() -> bool:
    """Print the version without the application; False if it cannot be written."""
    from ipulse_core.version import version

    try:
        print(version(), flush=True)  # noqa: T201  # rich is not imported
    except OSError:  # the application reports it
        return False
    return True
