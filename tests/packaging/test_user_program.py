"""A user's program, with the oldest and the newest Python that the client supports."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ipulse.stack.stack import Stack

from .conftest import ROOT, Environment

pytestmark = [pytest.mark.wheels, pytest.mark.timeout(1800)]

PROGRAM = Path(__file__).with_name("user_program.py")
# The runtime lock has no versions for Python 3.10.
LOCK = {"3.10": None, "3.13": ROOT / "requirements" / "runtime.txt"}


def interpreter(version: str) -> Path:
    """Return a Python of this version; skips the test where there is none."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found = [shutil.which(f"python{version}"), *pyenv.glob(f"versions/{version}.*/bin/python")]
    for path in filter(None, found):
        # a shim of pyenv exists for versions that are not chosen
        if subprocess.run([path, "-c", ""], capture_output=True, check=False).returncode == 0:
            return Path(path)
    pytest.skip(f"no Python {version} on this machine: `uv python install {version}`")


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(tmp_path_factory.mktemp("home"), environment={"IPULSE_LEASE_SECONDS": "60"}) as made:
        yield made


@pytest.mark.parametrize("version", LOCK)
def test_it_runs_from_an_experiment_to_a_compared_sweep(
    version: str, dist: Path, stack: Stack, tmp_path: Path
) -> None:
    environment = Environment(tmp_path, dist, interpreter(version), LOCK[version])
    environment.install("ipulse[client,notebook]")
    assert not any(map(environment.has, ("tensorflow", "ipulse_service", "ipulse_worker")))
    service = {"IPULSE_URL": stack.url, "IPULSE_TOKEN_FILE": str(stack.token_path)}
    output = environment.run(environment.bin / "python", PROGRAM, **service)
    assert output.splitlines()[-1] == "all of the program holds"
