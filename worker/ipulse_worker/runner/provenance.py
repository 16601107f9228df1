"""The provenance of a result: software, machine and source revision."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any, Dict, Optional, Sequence, Tuple

import numpy as np

from ipulse_core.checkout import checkout_root
from ipulse_core.version import commit, version

TENSORFLOW_DISTRIBUTIONS = ("tensorflow-cpu", "tensorflow")
PROGRAM_SECONDS = 10.0  # a repository on a slow disk must not delay a result


def versions(compiler: str) -> Dict[str, str]:
    """Return the versions that results depend on; `compiler` describes the kernels' compiler."""
    return {
        "ipulse": version(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "tensorflow": tensorflow_version(),
        "compiler": compiler,
    }


def tensorflow_version() -> str:
    """Return the version of TensorFlow, also if this process has not imported it; "" if none."""
    imported = sys.modules.get("tensorflow")
    if imported is not None:
        return str(imported.__version__)
    for distribution in TENSORFLOW_DISTRIBUTIONS:
        try:
            return metadata.version(distribution)
        except metadata.PackageNotFoundError:
            continue
    return ""


def host() -> Dict[str, Any]:
    """Describe the machine, without its name or its user."""
    return {
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)),  # available to this process
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": f"{platform.system()} {platform.machine()}",
    }


def git_revision(source: Optional[Path] = None) -> Dict[str, Any]:
    """Return {"commit", "modified", "why"}; `why` explains why the others are null."""
    source = source or checkout_root()
    if source is None and commit() is not None:  # of the wheel or the image
        return {"commit": commit(), "modified": False, "why": None}
    if source is None or not (source / ".git").exists():
        # git would find a repository around the installed package.
        why: Optional[str] = "the package does not run from a source checkout"
        return {"commit": None, "modified": None, "why": why}
    # Without optional locks, another git of this checkout is not disturbed.
    git = ["git", "--no-optional-locks", "-C", str(source)]
    revision, why = _output([*git, "rev-parse", "HEAD"])
    changes = None
    if revision is not None:
        changes, why = _output([*git, "status", "--porcelain", "--untracked-files=no"])
    return {
        "commit": revision,
        "modified": None if changes is None else bool(changes),
        "why": None if why is None else why.replace(str(source), "the checkout"),
    }


def _output(command: Sequence[str]) -> Tuple[Optional[str], Optional[str]]:
    """Return the output of a program, or None and the reason."""
    name = Path(command[0]).name
    try:
        result = subprocess.run(  # noqa: S603 - the command is fixed
            list(command), capture_output=True, timeout=PROGRAM_SECONDS, check=False, text=True
        )
    except FileNotFoundError:
        return None, f"{name} is not installed"
    except subprocess.TimeoutExpired:
        return None, f"{name} did not answer within {PROGRAM_SECONDS:.0f} s"
    if result.returncode != 0:
        return None, f"{name}: {result.stderr.strip()}".split("\n")[0]
    return result.stdout.strip(), None


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n")
    except OSError:
        lines = []
    for line in lines:
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
