"""The libraries of the page are built from the lock."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tests.ipulse.live_service import ROOT


@pytest.mark.verify
def test_the_bundles_are_those_that_the_lock_gives() -> None:
    if shutil.which("npm") is None:
        pytest.skip("needs Node and npm")
    done = subprocess.run(
        [ROOT / "scripts" / "vendor", "--check"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
