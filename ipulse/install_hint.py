"""How to install an optional part of IPUlse: the one place that says it."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence

from ipulse_core.errors import MissingDependency

_COMMANDS = {
    "ipulse": "pip install ./core '.[{extra}]'",
    "ipulse-service": "pip install ./core . './service[{extra}]'",
    "ipu-tensorflow-emulator": "pip install ./core ./emulator './ipu-tensorflow-emulator[{extra}]'",
    "ipulse-worker": "pip install ./core . ./emulator ./ops './worker[{extra}]'",
}
# pip needs the root before the distributions that depend on it.
_ALL = "pip install ./core '.[all]' ./emulator ./ops ./worker ./service"


def install_hint(extra: str, distribution: str = "ipulse") -> str:
    """Return how to install the optional dependencies `extra` of one of our distributions.

    IPUlse is installed from its repository: no release is published on a package index.
    """
    command = _ALL if extra == "all" else _COMMANDS[distribution].format(extra=extra)
    return f"run `{command}` in a checkout of the IPUlse repository"


def require_modules(
    modules: Sequence[str], purpose: str, extra: str = "all", distribution: str = "ipulse"
) -> None:
    """Raise MissingDependency, with a hint, if one of these top-level modules is not installed."""
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        raise MissingDependency(
            f"{purpose} needs {' and '.join(missing)}, which {verb} not installed: "
            + install_hint(extra, distribution)
        )
