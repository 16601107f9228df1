"""SIGKILL in each phase of a job on the only emulated IPU, which must be free afterwards."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from ipulse.client import Connection
from ipulse.stack.stack import Stack
from ipulse_core.states import Phase

from .jobs import PATIENCE, older_runner

SPEC = {
    "version": 1,
    "name": "killed",
    "seed": 3,
    "data": {"kind": "randman", "classes": 2, "units": 6, "steps": 6, "samples_per_class": 16},
    "network": {"layers": [{"neurons": 8}]},
    "training": {"epochs": 2, "batch_size": 8},
    "device": {"kind": "emulator", "tiles": 8},
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "orders").mkdir()
    return tmp_path


@pytest.fixture
def stack(home: Path) -> Iterator[Stack]:
    environment = {
        "IPULSE_RUNNER_MODULE": "tests.acceptance.mortal_runner",
        "IPULSE_EMULATED_IPUS": "1",
        "IPULSE_MAX_ATTEMPTS": "9",
        "IPULSE_RETRY_SECONDS": "0.01",
        "IPULSE_LEASE_SECONDS": "8",
        "IPULSE_HEARTBEAT_SECONDS": "1",
        **older_runner(),
    }
    with Stack(home, environment=environment) as started:
        yield started


@pytest.mark.verify
def test_nothing_differs(stack: Stack, home: Path) -> None:
    """The attempts of one job get a phase further each: five runners are killed, then, while it
    uploads, the agent."""
    orders, phases = home / "orders", [phase.value for phase in Phase]
    for phase in phases:
        if phase != "run":
            (orders / phase).touch()
    os.mkfifo(orders / "run")
    os.mkfifo(orders / "stopped")
    with Connection(stack.url, token_file=stack.token_path) as client:
        job = client.submit(SPEC)
        next(event for event in client.job(job.id).watch() if event.kind == "checkpoint")
        # The order for the upload is of the runner after the next: "report" comes first.
        (orders / "upload").write_text(str(stack.processes["service"].pid))
        (orders / "run").write_text("")
        assert (orders / "stopped").read_text() == "stopped"
        os.kill(stack.processes["agent"].pid, signal.SIGKILL)
        os.kill(stack.processes["service"].pid, signal.SIGCONT)
        stack.restart_agent()
        ended = client.job(job.id).wait(timeout=PATIENCE, check=False)
        assert ended.succeeded, ended.json

        reasons = [attempt["reason"] for attempt in ended.json["attempts"]]
        assert reasons == [*["runner_lost"] * len(phases), "worker_lost", "completed"]
        entered = {
            event.attempt: event.fields["phase"]
            for event in client.job(job.id).watch()
            if event.kind == "phase"
        }
        assert list(entered.values()) == [*phases, "report", "report"]
        assert client.job(job.id).profile().json["attempt"]["resumed_from_step"] > 0

        undisturbed = client.submit(SPEC).wait(timeout=PATIENCE, check=False)
        assert len(undisturbed.json["attempts"]) == 1
        assert digest(client, undisturbed.id) == digest(client, job.id)


def digest(client: Connection, job_id: str) -> str:
    """Return the digest of the weights."""
    (actual,) = [file.sha256 for file in client.job(job_id).artifacts() if file.role == "weights"]
    return actual
