"""What a result came from: software, machine, source revision."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path
from typing import Any, Dict, Optional, Sequence, Tuple

import numpy as np
import tensorflow as tf

from ipulse_core import __version__
from ipulse_core.checkout import checkout_root

PROGRAM_SECONDS = 10.0  # a repository on a slow disk should not hold up a result


def versions(compiler: str) -> Dict[str, str]:
    """Of what the figures depend on. `compiler`: what the kernels' compiler says it is."""
    return {
        "ipulse": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "tensorflow": tf.__version__,
        "compiler": compiler,
    }


def host() -> Dict[str, Any]:
    """The machine, without anything that names it or its user."""
    return {
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)),  # that this process may use
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": f"{platform.system()} {platform.machine()}",
    }


def git_revision(source: Optional[Path] = None) -> Dict[str, Any]:
    """{"commit", "modified", "why"}: the first two are null where `why` says why."""
    source = source or checkout_root()
    if source is None or not (source / ".git").exists():
        # Asking git would find the repository of whoever installed the package.
        why: Optional[str] = "the package does not run from a source checkout"
        return {"commit": None, "modified": None, "why": why}
    # Optional locks are for caches that another git of this checkout may be writing.
    git = ["git", "--no-optional-locks", "-C", str(source)]
    commit, why = _output([*git, "rev-parse", "HEAD"])
    changes = None
    if commit is not None:
        changes, why = _output([*git, "status", "--porcelain", "--untracked-files=no"])
    return {
        "commit": commit,
        "modified": None if changes is None else bool(changes),
        "why": None if why is None else why.replace(str(source), "the checkout"),
    }


def _output(command: Sequence[str]) -> Tuple[Optional[str], Optional[str]]:
    """What a program printed, or None and in a few words why there is nothing."""
    name = Path(command[0]).name
    try:
        result = subprocess.run(  # noqa: S603 - no word of it comes from a user
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
