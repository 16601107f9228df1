"""The packages of neurons on this machine, as the runner's Python reports them."""

from __future__ import annotations

import json
import os
import subprocess  # packages are imported by the runner's Python, which may be another one
import sys
from collections.abc import Iterable
from typing import Any, NamedTuple

from ipulse.cli.terminal import last_line
from ipulse.client import AgentStatus
from ipulse.install_hint import install_hint
from ipulse_core.errors import MissingDependency, Unavailable
from ipulse_core.spec.neuron_packages import VARIABLE

RUNNER_PYTHON = "IPULSE_RUNNER_PYTHON"
OVERVIEW = "ipulse_ops.neuron_package.overview"
CHECK = "ipulse_ops.neuron_package.check"
IMPORT_SECONDS = 60.0  # for all packages that are signed off, as an agent allows
USABLE, NOT_SIGNED_OFF = "usable", "not_signed_off"  # states of ipulse_ops.neuron_package.overview


class AgentPackage(NamedTuple):
    """A package that the service accepts, and the agents that have it."""

    package: str  # NAME@sha256:DIGEST
    version: str
    parameters: tuple[dict[str, Any], ...]
    agents: tuple[str, ...]


def runner_python() -> str:
    """Return the Python in which runners of this machine look for packages."""
    return os.environ.get(RUNNER_PYTHON) or sys.executable


def run_in_runner(
    module: str, *arguments: str, seconds: float | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a module of ipulse_ops in the runner's Python, for at most some seconds.

    Raises MissingDependency if ipulse_ops is not installed there, Unavailable after that time.
    """
    python = runner_python()
    try:
        known = _output([python, "-c", "import ipulse_ops"], seconds)
        if known.returncode:
            raise MissingDependency(
                f"packages of neurons need ipulse_ops, which {python} cannot import "
                f"({RUNNER_PYTHON} names another Python): {install_hint('all')}"
            )
        return _output([python, "-m", module, *arguments], seconds)
    except subprocess.TimeoutExpired as error:
        raise Unavailable(
            f"{python} did not import the packages of neurons within {error.timeout:g} s: one that "
            "is signed off may wait for something at its import"
        ) from error
    except OSError as error:
        raise MissingDependency(f"{RUNNER_PYTHON}: {python} does not run: {error}") from error


def _output(command: list[str], seconds: float | None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 (our own module, without a shell)
        command, capture_output=True, text=True, check=False, timeout=seconds
    )


def states_here() -> dict[str, Any]:
    """Return the packages that are signed off or installed here, as JSON of the overview.

    Raises MissingDependency if the runner's Python does not say it, Unavailable if it takes long.
    """
    done = run_in_runner(OVERVIEW, seconds=IMPORT_SECONDS)
    try:  # native code of a package may print, too
        found: dict[str, Any] = json.loads(last_line(done.stdout))
    except ValueError:
        last = last_line(done.stderr)
        raise MissingDependency(f"{runner_python()} did not list its packages: {last}") from None
    return found


def reference_of(state: dict[str, Any]) -> str:
    """Return NAME@sha256:DIGEST of a package on this machine, or its name without a digest."""
    return f"{state['name']}@sha256:{state['digest']}" if state["digest"] else str(state["name"])


def fix_of(state: dict[str, Any]) -> str:
    """Return what to do so that a package on this machine can be used, empty if it can."""
    python, name = runner_python(), state["name"]
    install = f"{python} -m pip install --no-deps --force-reinstall WHEEL"
    if state["state"] == USABLE:
        return ""
    if state["state"] == "other_digest":
        installed = f"{name}@sha256:{state['installed_digest']}"
        return f"{install} with the wheel that was signed off, or sign off {installed}"
    if state["state"] == "not_importable":
        return f"install what it needs into {python}; `ipulse neurons check {name}` tries it again"
    if state["state"] == NOT_SIGNED_OFF:
        return f"`ipulse neurons check {name}`, then list it in {VARIABLE}"
    return install


def packages_of(agents: Iterable[AgentStatus]) -> list[AgentPackage]:
    """Return the packages of the agents, which the service accepts, by their names."""
    found: dict[str, tuple[dict[str, Any], list[str]]] = {}
    for agent in agents:
        for each in agent.json.get("neuron_packages", ()):
            found.setdefault(each["package"], (each, []))[1].append(agent.name)
    return [
        AgentPackage(package, each["version"], tuple(each["parameters"]), tuple(names))
        for package, (each, names) in sorted(found.items())
    ]
