"""The profile of a program on IPUs for the page, as far as the SDK can read what was left."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Iterable, Optional

import ipulse_worker
import poplar_emulator
from ipulse_core.sandbox.python_path import python_folders, python_path
from ipulse_core.sandbox.sandbox import Sandbox
from ipulse_worker.runner.user_code import budget
from ipulse_worker.runner.user_code.programs.outputs import PROFILE, REPORTS, OutputFile
from ipulse_worker.runner.user_code.tools import ProgramTools

_MODULE = "ipulse_worker.runner.profile.convert"
_PLACE = "/reports"
_PACKAGES = (ipulse_worker, poplar_emulator)  # that the module imports


def converted_profile(
    sandbox: Sandbox, tools: ProgramTools, out: Path, names: Iterable[str], folder: Path
) -> Optional[OutputFile]:
    """Convert the first profile.pop, without devices and network; return None if that fails.

    Args:
        sandbox: of the program; it sees Python from now on.
        tools: of the SDK.
        out: the files that the program left.
        names: of these files.
        folder: a new folder for the result.
    """
    reports = sorted(n for n in names if n.startswith(f"{REPORTS}/") and n.endswith("/profile.pop"))
    if not reports:
        return None
    for place, shown in {**python_folders(*_PACKAGES), _PLACE: out / REPORTS}.items():
        sandbox.add(place, shown)
    for path in (out / REPORTS).rglob("*"):  # an agent that runs as root gives it another user
        path.chmod(0o755 if path.is_dir() else 0o644)
    (out / REPORTS).chmod(0o755)
    inside = sandbox.place(_PLACE)
    arguments = [f"{inside}{reports[0][len(REPORTS) :]}"]
    if f"{REPORTS}/debug.cbor" in names:
        arguments.append(f"{inside}/debug.cbor")
    environment = {
        **tools.environment,
        "PYTHONPATH": python_path(os.environ, tools.folders.values(), *_PACKAGES),
    }
    command = [sys.executable, "-s", "-m", _MODULE, *arguments]
    done = sandbox.run(command, environment, budget.CONVERTER, folder)
    path = folder / PROFILE
    if done.status or not path.is_file():
        return None
    return OutputFile(path, PROFILE, "poplar_profile", "application/json")
