"""JupyterLab, installed from a hashed lock into a cache, with the kernel of the tests."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.acceptance.locked_tools import ROOT, cache_folder, installing, run

_LOCK = ROOT / "requirements" / "jupyterlab.txt"
_UV = Path(sys.executable).with_name("uv")
_START_SECONDS = 120.0


def installed() -> Path:
    """Returns the folder of JupyterLab's programs; of several processes one installs it."""
    folder = cache_folder("jupyterlab", _LOCK)
    with installing(folder) as is_needed:
        if is_needed:
            run(_UV, "venv", "--clear", "--python", sys.executable, folder / "env")
            python = ("--python", folder / "env" / "bin" / "python", "--system-certs")
            run(_UV, "pip", "install", *python, "--require-hashes", "-r", _LOCK)
    return folder / "env" / "bin"


@contextmanager
def jupyterlab(folder: Path, port: int, environment: dict[str, str]) -> Iterator[str]:
    """Starts JupyterLab on a folder of notebooks and yields its address with the token.

    Its kernel is this Python, with these further variables. The page has the application as
    `jupyterapp`.
    """
    home = folder / ".jupyter"
    kernel = home / "data" / "kernels" / "python3" / "kernel.json"
    kernel.parent.mkdir(parents=True, exist_ok=True)
    program = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec = {"argv": program, "display_name": "Python 3", "language": "python"}
    kernel.write_text(json.dumps({**spec, "env": environment}))
    token = secrets.token_hex(16)
    env = {
        **{name: value for name, value in os.environ.items() if not name.startswith("JUPYTER")},
        "HOME": str(home),
        "JUPYTER_PATH": str(home / "data"),
        "JUPYTER_TOKEN": token,
        "JUPYTER_PLATFORM_DIRS": "1",
        "PYTHONPATH": str(ROOT),
    }
    options = [f"--ServerApp.port={port}", f"--ServerApp.root_dir={folder}", "--no-browser"]
    options += ["--expose-app-in-browser", "--allow-root", "--LabApp.news_url=None"]
    options += ["--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]
    url = f"http://127.0.0.1:{port}"
    with (folder / "jupyter.log").open("a") as log:
        command = [str(installed() / "jupyter-lab"), *options]
        process = subprocess.Popen(command, cwd=folder, env=env, stdout=log, stderr=log)
        try:
            _await(f"{url}/api/status?token={token}", process, folder / "jupyter.log")
            yield f"{url}/lab/tree/%s?token={token}&reset"
        finally:
            process.terminate()
            process.wait(_START_SECONDS)


def _await(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + _START_SECONDS
    while time.monotonic() < until and process.poll() is None:
        try:
            httpx.get(url).raise_for_status()
        except httpx.HTTPError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError(log.read_text()[-4000:])
