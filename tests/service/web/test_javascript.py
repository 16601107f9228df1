"""The page's modules that need no browser: arithmetic and words."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

UNITS = Path(__file__).parent / "units"


def test_modules_without_a_browser() -> None:
    node = Path(sys.executable).parent / "node"  # of the lock
    command = [node, "--disable-warning=MODULE_TYPELESS_PACKAGE_JSON", "--test"]
    done = subprocess.run([*command, *sorted(UNITS.glob("*.mjs"))], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ℹ pass 0\n" not in done.stdout
