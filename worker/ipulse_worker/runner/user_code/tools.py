"""The compilers of a program: those of the emulator, or of the worker's Poplar SDK."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Dict, List, Mapping, NamedTuple, Tuple

from ipulse_core.build_cache.toolchain import compiler, run_tool
from ipulse_core.sandbox.bubblewrap import foreign_folder
from ipulse_core.sandbox.sandbox import TMP
from ipulse_ops.lif.poplar.sdk import MissingSDK, find_popc
from poplar_emulator.build import LIBRARIES, POPC, program_flags

_VERSION_LENGTH = 200
_HINT = "it must be of a whole Poplar SDK: `source .../poplar/enable.sh` before the agent's start"


class ProgramTools(NamedTuple):
    """popc, and the flags and variables with which programs are compiled."""

    popc: str
    flags: Tuple[str, ...]  # of the compiler of the host program, behind its own
    environment: Dict[str, str]
    folders: Dict[str, Path]  # that the sandbox must show, by their places
    version: str = ""  # of the SDK


def emulator_environment(prefix: Path) -> Dict[str, str]:
    """Return the variables with which the emulator's popc is found, and finds the compiler."""
    return {
        "PATH": f"{prefix / 'bin'}:/usr/bin:/bin",
        "CXX": shlex.join(compiler()),
        "IPULSE_CACHE": f"{TMP}/ipulse-cache",
    }


def emulator_tools(prefix: Path) -> ProgramTools:
    """Return the tools of an emulator."""
    flags, environment = program_flags(prefix), emulator_environment(prefix)
    return ProgramTools(str(prefix / POPC), flags, environment, {str(prefix): prefix})


def sdk_tools(variables: Mapping[str, str] = os.environ) -> ProgramTools:
    """Return the tools of the SDK with the popc on the PATH, as the LIF op's build finds it.

    Raises MissingSDK; BuildFailed if popc does not say its version; SandboxUnavailable if programs
    would see a home folder with the SDK.
    """
    found = find_popc(variables.get("PATH"))
    if found is None:
        raise MissingSDK(
            "popc is not on the PATH: `source .../poplar/enable.sh` of a Poplar SDK before the "
            "agent's start"
        )
    popc = Path(found).resolve()
    prefix = popc.parents[1]
    lib = prefix / "lib"
    names = [name for name in ("poplar", *LIBRARIES) if (lib / f"lib{name}.so").exists()]
    if "poplar" not in names:
        raise MissingSDK(
            f"{prefix} has no lib/libpoplar.so: the popc on the PATH must be of an SDK"
        )
    output = run_tool([str(popc), "--version"], _HINT)
    version = next((line for line in output.splitlines() if "version" in line.lower()), "")
    libraries = _library_folders(prefix, variables)
    include = prefix / "include"
    flags = ("-std=c++17", f"-I{include}", f"-L{lib}", *(f"-l{name}" for name in names))
    environment = {
        "PATH": f"{popc.parent}:/usr/bin:/bin",
        "CPATH": str(include),
        "LIBRARY_PATH": str(lib),
        "LD_LIBRARY_PATH": ":".join(map(str, libraries)),
        "POPLAR_SDK_ENABLED": str(prefix),
    }
    folders: Dict[str, Path] = {}
    for folder in (prefix, *libraries):
        hint = "the Poplar SDK is there: install it in a folder of its own, such as /opt"
        folders.update(foreign_folder(folder, hint))
    return ProgramTools(str(popc), flags, environment, folders, version.strip()[:_VERSION_LENGTH])


def _library_folders(prefix: Path, variables: Mapping[str, str]) -> List[Path]:
    """Return the SDK's folders with libraries: others next to it hold those of its drivers."""
    named = variables.get("LD_LIBRARY_PATH", "").split(":")
    folders = [Path(name).resolve() for name in named if name]
    beside = [
        folder
        for folder in folders
        if folder.is_dir() and len(prefix.parts) > 2 and prefix.parent in folder.parents
    ]
    return list(dict.fromkeys([prefix / "lib", *beside]))
