"""A client that knows version 1 of specs only works with today's service.

Its sources are those of a commit, as `git archive COMMIT ipulse core | tar -x` writes them into a
folder; they run with the packages of this environment.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ipulse.client import Connection
from ipulse.stack.stack import Stack

pytestmark = [pytest.mark.verify, pytest.mark.timeout(900)]

ROOT = Path(__file__).resolve().parents[2]
COMMIT = "138cd236"  # the last one before version 2 and people
SPEC = """\
version: 1
name: from version 1
data: {kind: digits, samples: 100, steps: 10}
network: {layers: [{neurons: 4, decay: 0.9, recurrent: true}]}
training: {epochs: 2, batch_size: 50}
"""
PROGRAM = """\
import json, sys
from ipulse import LIF, Experiment, connect, data
experiment = Experiment(
    name="by its Python",
    data=data.Digits(samples=100, steps=10),
    layers=[LIF(4, decay=0.9)],
    epochs=1,
    batch_size=50,
)
connection = connect()
job = connection.submit(experiment)
job.wait()
path = job.files["weights.npz"].download(sys.argv[1])
epochs = job.metrics(as_="columns")
print(json.dumps([job.id, job.state, str(path), epochs["epoch"], job.experiment.spec().seed]))
"""
SHORT = {"epochs": 1, "batch_size": 50}
Former = Callable[..., str]


@pytest.fixture(scope="module")
def former(tmp_path_factory: pytest.TempPathFactory, stack: Stack) -> Former:
    """Runs a module or a program with the packages of COMMIT, and returns what it prints."""
    folder = tmp_path_factory.mktemp("release")
    command = ["git", "-C", str(ROOT), "archive", COMMIT, "ipulse", "core"]
    made = subprocess.run(command, capture_output=True)
    if made.returncode:
        shallow = ["git", "-C", str(ROOT), "rev-parse", "--is-shallow-repository"]
        printed = subprocess.run(shallow, capture_output=True, text=True).stdout
        assert printed.strip() == "true", made.stderr.decode()
        pytest.skip(f"this shallow clone has no commit {COMMIT}: git fetch --unshallow")
    with tarfile.open(fileobj=io.BytesIO(made.stdout)) as archive:
        archive.extractall(folder, filter="data")
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("IPULSE_")},
        "PYTHONPATH": os.pathsep.join([str(folder), str(folder / "core")]),
        "HOME": str(folder),
        "IPULSE_URL": stack.url,
        "IPULSE_TOKEN_FILE": str(stack.token_path),
    }

    def run(*arguments: str) -> str:
        ran = subprocess.run(
            [sys.executable, *arguments],
            env=environment,
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    assert run("-m", "ipulse", "--version").startswith("0.3.0.dev0")
    return run


def test_its_commands_submit_list_wait_and_download(
    former: Former, client: Connection, tmp_path: Path
) -> None:
    (tmp_path / "spec.yaml").write_text(SPEC)
    made = json.loads(former("-m", "ipulse", "submit", str(tmp_path / "spec.yaml"), "--json"))
    layers = [{"neurons": 4, "connections": [{}, {"kind": "recurrent"}]}]
    network = {"layers": layers}
    newer = client.submit({"version": 2, "name": "new", "network": network, "training": SHORT})
    former("-m", "ipulse", "wait", made["id"], newer.id)
    rows = json.loads(former("-m", "ipulse", "list", "--json"))["jobs"]
    states = {row["id"]: row["state"] for row in rows}
    assert states[made["id"]] == states[newer.id] == "succeeded"
    former("-m", "ipulse", "download", made["id"], "--to", str(tmp_path / "results"))
    names = {path.name for path in (tmp_path / "results").rglob("*")}
    assert {"weights.npz", "report.html", "manifest.json"} <= names
    shown = json.loads(former("-m", "ipulse", "spec", newer.id, "--json"))
    assert (shown["version"], shown["network"]["layers"][0]["recurrent"]) == (1, True)
    again = json.loads(former("-m", "ipulse", "clone", newer.id, "--json"))
    former("-m", "ipulse", "wait", again["id"])


def test_its_python_submits_waits_and_reads(former: Former, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    printed = former(str(tmp_path / "program.py"), str(tmp_path))
    found: list[Any] = json.loads(printed.splitlines()[-1])
    assert found[1] == "succeeded"
    assert Path(found[2]).stat().st_size > 0
    assert found[3:] == [[1], 0]
