"""The libraries of the page are built from the lock, and their licences are listed."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tests.ipulse.live_service import ROOT

VENDOR = ROOT / "service" / "ipulse_service" / "http" / "web" / "vendor"


@pytest.mark.verify
def test_the_bundles_are_those_that_the_lock_gives() -> None:
    if shutil.which("npm") is None:
        pytest.skip("needs Node and npm")
    done = subprocess.run(
        [ROOT / "scripts" / "vendor", "--check"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_bundle_has_its_licence() -> None:
    listed = "\n".join(path.read_text("utf-8") for path in VENDOR.rglob("*.txt"))
    for name in ("lit", "uplot", "echarts", "codemirror", "yaml", "virtual"):
        assert name in listed.lower(), name
