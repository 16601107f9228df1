"""A build says which commit it was made from, or that it does not know."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Dict, Optional

import pytest

import ipulse_core
from ipulse_core.version import COMMIT_FILE, RELEASE

PROGRAM = "from ipulse_core.version import version; print(version())"
COMMIT = "0123456789abcdef0123456789abcdef01234567"

pytestmark = pytest.mark.skipif(".dev" not in RELEASE, reason="a release is its own version")


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A copy of the package as site-packages would have it."""
    source = Path(ipulse_core.__file__).parent
    shutil.copytree(source, tmp_path / "ipulse_core", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def said(folder: Path, program: str = PROGRAM, **environment: str) -> str:
    """Return what a fresh interpreter prints that imports the package from a folder."""
    own: Dict[str, str] = {"PYTHONPATH": str(folder), "PATH": "/usr/bin:/bin", **environment}
    command = [sys.executable, "-S", "-c", program]
    done = subprocess.run(command, cwd=folder, env=own, stdout=subprocess.PIPE, check=True)
    return done.stdout.decode().strip()


@pytest.mark.parametrize("commit", [None, "", "v1", "0.3.0"])
def test_an_installation_from_nowhere_says_unknown(installed: Path, commit: Optional[str]) -> None:
    environment = {} if commit is None else {"IPULSE_COMMIT": commit}
    assert said(installed, **environment) == f"{RELEASE}+unknown"


def test_a_build_with_the_commit_in_its_environment_keeps_it(installed: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "ipulse_core.version"],
        cwd=installed,
        env={"IPULSE_COMMIT": COMMIT},
        check=True,
    )
    assert (installed / "ipulse_core" / COMMIT_FILE).exists()
    assert said(installed) == f"{RELEASE}+g01234567"


def test_a_checkout_says_its_commit_whatever_surrounds_it(installed: Path) -> None:
    """A repository around an installed package, such as that of a home folder, is not asked."""
    checkout = installed / "checkout"
    (checkout / "core").mkdir(parents=True)
    shutil.copytree(installed / "ipulse_core", checkout / "core" / "ipulse_core")
    (checkout / "pyproject.toml").touch()
    names = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    for place in (installed, checkout):
        git = ["git", "-C", str(place), *names]
        subprocess.run([*git, "init", "-q"], check=True)
        subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", str(place)], check=True)
    assert said(installed) == f"{RELEASE}+unknown"
    head = ["git", "-C", str(checkout), "rev-parse", "HEAD"]
    commit = subprocess.run(head, check=True, stdout=subprocess.PIPE).stdout.decode()
    assert said(checkout / "core") == f"{RELEASE}+g{commit[:8]}"
    assert said(checkout / "core", PATH="/nowhere") == f"{RELEASE}+unknown"  # without git


def test_this_version_is_one_that_installers_order() -> None:
    release = r"\d+\.\d+\.\d+(\.dev\d+)?"
    assert re.fullmatch(release, RELEASE)
