"""How to install an optional part of IPUlse: the one place that says it."""

from __future__ import annotations

_COMMANDS = {
    "ipulse": "pip install ./core '.[{extra}]'",
    "ipulse-service": "pip install './service[{extra}]'",
    "ipulse-worker": "pip install './worker[{extra}]'",
}


def install_hint(extra: str, distribution: str = "ipulse") -> str:
    """Return how to install the optional dependencies `extra` of one of our distributions.

    IPUlse is installed from its repository: no release is published on a package index.
    """
    command = _COMMANDS[distribution].format(extra=extra)
    return f"run `{command}` in a checkout of the IPUlse repository"
