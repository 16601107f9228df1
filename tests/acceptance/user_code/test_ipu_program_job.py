"""A user's program on IPUs through a real service, agent and sandbox; the SDK is a stand-in."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from ipulse.client import Connection
from ipulse.stack.stack import Stack
from tests.acceptance.user_code.sandbox import sandbox_problem
from tests.acceptance.user_code.test_program_job import PROGRAM, SECONDS, VERTEX, spec
from tests.sdk_fake import VERSION, make_sdk

pytestmark = [
    pytest.mark.verify,
    pytest.mark.skipif(bool(sandbox_problem()), reason=sandbox_problem()),
]


@pytest.fixture
def coder(stack: Stack, tmp_path: Path) -> Iterator[Connection]:
    """A client that may submit code, of a stack with an agent for IPUs over Fabric."""
    sdk = make_sdk(tmp_path / "sdk")
    with socket.create_server(("127.0.0.1", 0)) as controller:
        variables = {
            "IPULSE_DEVICE_KINDS": "ipu",
            "IPULSE_IPU_SANDBOX_NETWORK": "1",
            "IPUOF_VIPU_API_HOST": "127.0.0.1",
            "IPUOF_VIPU_API_PORT": str(controller.getsockname()[1]),
            "IPUOF_VIPU_API_PARTITION_ID": "p1",
            "PATH": f"{sdk / 'bin'}:{os.environ['PATH']}",
        }
        with stack.more_agent("ipu-agent", variables):
            with Connection(stack.url, token_file=stack.token_path) as owner:
                token = owner.create_token("ipu coder", "user", 3600, submit_code=True)
            with Connection(stack.url, token.secret) as made:
                yield made


def test_a_program_runs_on_the_ipus_of_an_agent(coder: Connection, tmp_path: Path) -> None:
    folder = tmp_path / "program"
    folder.mkdir()
    (folder / "main.cpp").write_text(PROGRAM)
    (folder / "vertices.cpp").write_text(VERTEX)
    device = {"kind": "ipu", "ipus": 1, "engine_options": {"autoReport.all": "true"}}
    job = coder.submit(spec(coder.push_program(folder), device=device))
    ended = coder.job(job.id).wait(SECONDS, check=False)
    assert ended.state == "succeeded", ended.message
    names = {artifact.name: artifact.role for artifact in coder.job(job.id).artifacts()}
    assert names["profile.pop"] == "poplar_profile"
    assert names["result.txt"] == "output"
    assert {"report.html", "manifest.json"} <= set(names)
    lines = [event.fields["message"] for event in coder.job(job.id).events() if event.kind == "log"]
    assert f"compiles with {VERSION}" in lines
    assert "ran" in lines
