"""The Poplar op for IPUs: Graphcore's TensorFlow, and the op compiled with Graphcore's SDK.

`$IPULSE_POPLAR_OP` may name a directory with libipulse_lif.so and ipulse_lif.gp from `make -C
ops/ipulse_ops/lif/poplar`. Otherwise this module runs that command once per state of the sources.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Any, Callable, List, Optional

from ipulse_core.build_cache.build_once import Steps, build_once
from ipulse_core.build_cache.directory import cache_directory
from ipulse_core.build_cache.progress import ProgressCallback, print_progress
from ipulse_core.build_cache.toolchain import NativeError, run_tool
from ipulse_core.build_cache.unused_builds import mark_used
from ipulse_core.ipu import API_LEVEL
from ipulse_ops.lif.poplar.sources import SOURCES, BuiltOp, hash_of_sources

VARIABLE = "IPULSE_POPLAR_OP"
OLD_LEVEL = 4
_VERSION = re.compile(r"\b(\d+)\.(\d+)\.\d+")
NAMES = ("libipulse_lif.so", "ipulse_lif.gp")
HINT = f"it must be of a whole Poplar SDK (set {VARIABLE} to an op that was built before instead)"


class MissingSDK(NativeError):
    """The Poplar SDK, or the TensorFlow that comes with it, is not installed."""

    code = "missing_sdk"


def tensorflow_ipu() -> Any:
    """Return the module `tensorflow.python.ipu`. Raises MissingSDK."""
    try:
        from tensorflow.python import ipu  # only in Graphcore's TensorFlow
    except ImportError as error:
        raise MissingSDK(
            "this Python has no TensorFlow for the IPU: install the wheel of a Poplar SDK from 2.2 "
            "to 3.3 and point IPULSE_RUNNER_PYTHON to its Python"
        ) from error
    return ipu


def precompiled_user_op() -> Callable[..., List[Any]]:
    """Return the function of Graphcore's TensorFlow. Raises MissingSDK."""
    found: Callable[..., List[Any]] = tensorflow_ipu().custom_ops.precompiled_user_op
    return found


def built_op(
    api_level: Optional[int] = None, progress: ProgressCallback = print_progress
) -> BuiltOp:
    """Return the op's library and codelets; build them if necessary.

    api_level: None uses the level of the SDK with the popc on the PATH.

    Raises MissingSDK if there are no tools to build them, BuildFailed if the build fails.
    """
    named = os.environ.get(VARIABLE)
    if named:
        mark_used(Path(named))
        return _found(Path(named))
    popc = find_popc()
    if popc is None:
        raise MissingSDK(
            f"popc is not on the PATH: `source .../poplar/enable.sh` first, or set {VARIABLE} to "
            "the directory of an op that was built before"
        )
    version = run_tool([popc, "--version"], HINT)
    if api_level is None:
        api_level = level_of(version)
    directory = cache_directory() / f"sdk-op-{hash_of_sources(f'{version} level {api_level}')}"
    if not mark_used(directory):

        def make(complete: Path, scratch: Path, steps: Steps) -> None:
            _build(complete, scratch, steps, api_level)

        build_once("the LIF op for Poplar", "sdk-op", directory, NAMES[-1], make, progress)
    return _found(directory)


def find_popc(path: Optional[str] = None) -> Optional[str]:
    """Return the first popc on the PATH that is not the command of the package poplar-emulator.

    path: of folders; None is this process's PATH.
    """
    folders = os.environ.get("PATH", os.defpath) if path is None else path
    for folder in folders.split(os.pathsep):
        found = shutil.which("popc", path=folder)
        if found is not None:
            with open(found, "rb") as file:
                if b"poplar_emulator.commands" not in file.read(4096):
                    return found
    return None


def level_of(version: str) -> int:
    """Return the API level of an SDK from its popc's version text: 4 up to 2.2, then 5."""
    found = _VERSION.search(version)
    if found is None:
        return API_LEVEL
    return API_LEVEL if (int(found[1]), int(found[2])) >= (2, 3) else OLD_LEVEL


def _build(complete: Path, scratch: Path, steps: Steps, api_level: int) -> None:
    steps.begin(1)
    sources = scratch / "sources"
    shutil.copytree(SOURCES, sources)
    run_tool(["make", "-C", str(sources), f"LEVEL={api_level}"], HINT)
    for name in NAMES:
        shutil.move(str(sources / name), str(complete / name))
    steps.finish_one()


def _found(directory: Path) -> BuiltOp:
    missing = [name for name in NAMES if not (directory / name).exists()]
    if missing:
        raise MissingSDK(f"{directory} has no {' and no '.join(missing)}: see {VARIABLE}")
    return BuiltOp(*(directory / name for name in NAMES))
