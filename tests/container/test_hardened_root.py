"""What an agent finds in a container's rights: read-only root, no capabilities, another user.

The root has this machine's `/usr` and the checkout in place of the image's files; `make containers`
and `make verify` build and try the image itself.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
USER = 10001  # of the image
SEEN = ("/usr", str(ROOT), sys.base_prefix)  # read by the programs below, at the same places
# Mounts these places into the root, and enters it as a container.
MOUNT = """
root=$1; shift
for place in $SEEN; do
    mkdir -p "$root$place"
    mount --rbind "$place" "$root$place"
done
exec "$@"
"""


def enter_script() -> str:
    """Return the script with which `make containers` enters an image."""
    text = (ROOT / "docker" / "container.py").read_text("utf-8")
    return text.partition('ENTER = """')[2].partition('"""')[0].replace("\\\n", " ")


@pytest.fixture
def inside(tmp_path: Path) -> list[str]:
    """Return the beginning of a command line that runs a program in the root."""
    if os.geteuid() != 0 or shutil.which("bwrap") is None:
        pytest.skip("needs root and bubblewrap")
    root = tmp_path / "root"
    for name in ("proc", "tmp", "dev", "var/lib/ipulse", "run/secrets", "etc", "app", "usr"):
        (root / name).mkdir(parents=True)
    for name in ("bin", "lib", "lib64", "sbin"):
        (root / name).symlink_to(f"usr/{name}")
    (root / "etc" / "hosts").touch()
    for name in ("alternatives", "ld.so.cache"):
        if Path("/etc", name).is_dir():
            shutil.copytree(Path("/etc", name), root / "etc" / name, symlinks=True)
        elif Path("/etc", name).exists():
            shutil.copy(Path("/etc", name), root / "etc" / name)
    for name in ("state", "secrets"):
        (tmp_path / name).mkdir()
    os.chown(tmp_path / "state", USER, USER)
    (tmp_path / "hosts").touch()
    places = [root, tmp_path / "state", tmp_path / "secrets", tmp_path / "hosts", USER, "exec"]
    private = ["unshare", "--mount", "--propagation", "private"]
    mount = ["bash", "-euc", MOUNT, "mount", str(root)]
    enter = ["bash", "-euc", enter_script(), "enter", *map(str, places)]
    variables = ["PATH=/usr/bin:/bin", "HOME=/var/lib/ipulse", "TF_CPP_MIN_LOG_LEVEL=2"]
    return [*private, *mount, *enter, *variables]


def said(inside: list[str], *command: str) -> dict[str, Any]:
    done = subprocess.run(
        [*inside, str(ROOT / ".venv" / "bin" / "python"), *command],
        env={**os.environ, "SEEN": " ".join(SEEN)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_container_has_compiler_and_sandbox(inside: list[str]) -> None:
    found = said(inside, "-m", "ipulse_worker.runner.capabilities")
    assert found["missing"] == {}
    assert found["capabilities"]["compiler"] is True
    sandbox = said(inside, "-m", "ipulse_worker.runner.sandbox.probe", "cpu", "emulator")
    assert sandbox["state"] == "bubblewrap", sandbox


def test_one_without_them_says_so(inside: list[str]) -> None:
    variables = [*inside, "PATH=/nowhere"]
    found = said([*variables], "-m", "ipulse_worker.runner.capabilities")
    assert found["capabilities"]["compiler"] is False
    assert "apt-get install g++" in found["missing"]["compiler"]
    sandbox = said(variables, "-m", "ipulse_worker.runner.sandbox.probe", "cpu")
    assert sandbox["state"] == "missing"
