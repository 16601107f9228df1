"""The fault suite from the command line: a few faults of each kind."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

SEED = 20


def selftest(*arguments: str, seconds: float = 480) -> tuple[int, dict[str, Any], str]:
    """Return the exit code, the JSON and the remarks."""
    command = [sys.executable, "-m", "ipulse", "selftest", *arguments, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds)
    return done.returncode, json.loads(done.stdout), done.stderr


def test_what_was_accepted_survives_kills_and_forged_messages() -> None:
    options = ("--lease", "2", "--agents", "2", "--seed", str(SEED))
    groups = ("--only", "kills", "--only", "messages")
    code, report, remarks = selftest("--faults", "--kills", "8", *options, *groups)
    assert code == 0, (report, remarks)
    assert report["seed"] == SEED
    assert report["kills"] == 8
    assert report["jobs_accepted"] > 5
    assert report["lost"] == report["run_twice_officially"] == report["broken"] == []
    assert report["old_runner_beside_next"] == []
    assert any(fault["rerun_seconds"] for fault in report["faults"])
    # Meanwhile nobody saw or changed what they may not.
    assert {"200", "401", "403", "404"} <= report["statuses"].keys()
    assert report["clock_error_seconds"] > 1.0  # every part has a wrong clock
    assert set(report["memory_mib"]) == {"redis", "service", "agent", "agent-2"}


def test_faults_must_be_requested_explicitly() -> None:
    code, report, _ = selftest()
    assert code == 2
    assert report["error"]["problems"][0]["pointer"] == "/faults"
