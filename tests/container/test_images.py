"""Both images are built without a Docker engine, and jobs go through what was built."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
TOOLS = ("buildah", "debootstrap", "ip", "nsenter", "redis-server", "unshare")


@pytest.mark.verify
@pytest.mark.timeout(3600)
def test_jobs_succeed_in_images_that_were_just_built() -> None:
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing or os.geteuid() != 0:
        pytest.skip(f"needs root, and {', '.join(missing) or 'nothing else'} is missing")
    program = ROOT / "docker" / "try_with_buildah.py"
    done = subprocess.run([sys.executable, program], cwd=ROOT, check=False)
    assert done.returncode == 0
