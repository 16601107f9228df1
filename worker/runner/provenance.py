"""What a result came from: software, machine, source revision."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path
from typing import Any, Dict, Optional, Tuple

import numpy as np
import tensorflow as tf

import ipulse

SOURCE = Path(ipulse.__file__).resolve().parent.parent
GIT_SECONDS = 10.0  # a repository on a slow disk should not hold up a result


def versions() -> Dict[str, str]:
    """Of what the figures depend on."""
    return {
        "ipulse": ipulse.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "tensorflow": tf.__version__,
    }


def host() -> Dict[str, Any]:
    """The machine, without anything that names it or its user."""
    return {
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)),  # that this process may use
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": f"{platform.system()} {platform.machine()}",
    }


def git_revision(source: Path = SOURCE) -> Dict[str, Any]:
    """{"commit", "modified", "why"}: the first two are null where `why` says why."""
    commit, why = _git(source, "rev-parse", "HEAD")
    if commit is None:
        return {"commit": None, "modified": None, "why": why}
    changes, why = _git(source, "status", "--porcelain", "--untracked-files=no")
    modified = None if changes is None else bool(changes)
    return {"commit": commit, "modified": modified, "why": why}


def _git(source: Path, *arguments: str) -> Tuple[Optional[str], Optional[str]]:
    """The command's output, or None and the reason."""
    if not (source / ".git").exists():
        # Asking git would find the repository of whoever installed the package.
        return None, "the package does not run from a source checkout"
    try:
        # Optional locks are for caches that another git of this checkout may be writing.
        result = subprocess.run(  # noqa: S603 - fixed words and our own directory
            [  # noqa: S607 - whichever git the user has
                "git",
                "--no-optional-locks",
                "-C",
                str(source),
                *arguments,
            ],
            capture_output=True,
            timeout=GIT_SECONDS,
            check=False,
            text=True,
        )
    except FileNotFoundError:
        return None, "git is not installed"
    except subprocess.TimeoutExpired:
        return None, f"git did not answer within {GIT_SECONDS:.0f} s"
    if result.returncode != 0:
        said = result.stderr.strip().split("\n")[0].replace(str(source), "the checkout")
        return None, f"git: {said}"
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
