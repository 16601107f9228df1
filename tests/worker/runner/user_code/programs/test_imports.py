"""A runner that was started for a program: no job of this kind waits for TensorFlow."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict

import pytest

from ipulse_core.sandbox import bubblewrap
from ipulse_core.sandbox.unavailable import SandboxUnavailable
from ipulse_core.source_package import read_folder, write_package
from ipulse_core.spec.job_kinds import CODE_ONLY_VARIABLE
from tests.worker.runner.driven_runner import SOURCE
from tests.worker.runner.resolver import resolve

try:
    bubblewrap.require_bubblewrap()
except SandboxUnavailable as problem:
    pytest.skip(str(problem), allow_module_level=True)

PROGRAM = '#include <cstdio>\nint main() { std::puts("ran"); }\n'
# The runner's own main, then what it has imported.
RUNNER = """
import sys
from ipulse_worker.runner.__main__ import main
main(["--events-fd", sys.argv[1]])
open(sys.argv[2], "w").write(" ".join(sys.modules))
"""


@pytest.mark.old_python
def test_a_program_runs_without_an_import_of_tensorflow(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "main.cpp").write_text(PROGRAM)
    package = tmp_path / "package.tar"
    with package.open("wb") as out:
        write_package(read_folder(tmp_path / "mine").files, out)
    spec: Dict[str, Any] = {
        "version": 1,
        "kind": "poplar_program",
        "package": f"sha256:{hashlib.sha256(package.read_bytes()).hexdigest()}",
        "sources": ["main.cpp"],
        "device": {"ipus": 1},
    }
    (tmp_path / "work").mkdir()
    assignment = {
        "protocol": 1,
        "job_id": "job_1",
        "attempt": 1,
        "work_dir": str(tmp_path / "work"),
        "spec": resolve("PoplarProgramSpec", spec),
        "start_from": str(package),
    }
    with (tmp_path / "events").open("w+b") as events:
        subprocess.run(
            [sys.executable, "-c", RUNNER, str(events.fileno()), str(tmp_path / "imported")],
            input=json.dumps(assignment).encode() + b"\n",
            pass_fds=(events.fileno(),),
            env={
                **os.environ,
                "PYTHONPATH": str(SOURCE),
                "IPULSE_DEVICES": str(tmp_path / "devices"),
                CODE_ONLY_VARIABLE: "1",
            },
            check=True,
        )
        events.seek(0)
        written = [json.loads(line) for line in events]
    assert written[-1]["reason"] == "completed", written[-1]
    (ready,) = [event for event in written if event["kind"] == "ready"]
    assert ready["tensorflow"]  # its version is known all the same
    imported = set((tmp_path / "imported").read_text().split())
    assert "ipulse_worker.runner.attempts.program" in imported
    assert not {"tensorflow", "keras", "sklearn"} & imported
