"""The blocking client is the asynchronous one without `async` and `await`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_the_blocking_client_is_up_to_date() -> None:
    command = [sys.executable, "scripts/blocking_client.py", "--check"]
    checked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")


def test_nothing_asynchronous_is_left_in_what_editors_show() -> None:
    for path in (ROOT / "ipulse/client/blocking").glob("*.py"):
        _, _, text = path.read_text().partition("\n")
        for word in ("async", "await", "Async"):
            assert word not in text, path
