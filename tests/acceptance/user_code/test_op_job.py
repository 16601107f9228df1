"""A user's own op from the folder to the trained network, through a real service and agent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ipulse.client import Connection
from ipulse.stack.stack import Stack
from ipulse_core.errors import InvalidInput, NotPermitted
from tests.acceptance.user_code.sandbox import sandbox_problem
from tests.worker.runner.user_code.ops.packages import project

SECONDS = 300.0

requires_bubblewrap = pytest.mark.skipif(bool(sandbox_problem()), reason=sandbox_problem())


@pytest.fixture(scope="module")
def coder(stack: Stack) -> Iterator[Connection]:
    """A client with a token that may submit code."""
    with Connection(stack.url, token_file=stack.token_path) as owner:
        token = owner.create_token("op coder", "user", 3600, submit_code=True)
    with Connection(stack.url, token.secret) as made:
        yield made


def spec(reference: str, neurons: int = 16, **changes: Any) -> dict[str, Any]:
    layer = {"kind": "op", "op": reference, "neurons": neurons, "attributes": {"width": 4}}
    layer.update(changes)
    return {
        "version": 1,
        "data": {"kind": "digits"},
        "network": {"layers": [{"neurons": 64}, layer, {"neurons": 32}]},
        "training": {"epochs": 2},
        "device": {"kind": "cpu", "threads": 1},
    }


def test_only_a_token_with_the_right_pushes_and_names_ops(
    client: Connection, coder: Connection, tmp_path: Path
) -> None:
    folder = project(tmp_path / "op")
    with pytest.raises(NotPermitted, match="submit-code"):
        client.push_op(folder)
    op = coder.push_op(folder)
    assert coder.push_op(folder) == op
    assert [found.reference for found in client.ops()].count(op.reference) == 1
    assert op.backends == ["reference", "kernel", "poplar"]
    with pytest.raises(NotPermitted, match="submit-code"):
        client.submit(spec(op.reference))
    with pytest.raises(NotPermitted):
        client.delete_op(op.reference)


@requires_bubblewrap
def test_a_network_with_the_op_is_trained(coder: Connection, tmp_path: Path) -> None:
    op = coder.push_op(project(tmp_path / "op"))
    job = coder.submit(spec(op.reference))
    ended = coder.job(job.id).wait(SECONDS, check=False)
    assert ended.state == "succeeded", ended.message
    summary = ended.summary or {}
    assert summary["test_accuracy"] > 0.15  # guessing gives 0.1
    names = {artifact.name for artifact in coder.job(job.id).artifacts()}
    assert {"report.html", "weights.npz", "manifest.json"} <= names
    # The op may go: the job keeps the package that it used.
    coder.delete_op(op.reference)
    assert op.reference not in [found.reference for found in coder.ops()]
    with pytest.raises(InvalidInput):
        coder.submit(spec(op.reference))


@requires_bubblewrap
@pytest.mark.verify
def test_a_network_with_the_op_is_trained_on_the_emulator(
    coder: Connection, tmp_path: Path
) -> None:
    op = coder.push_op(project(tmp_path / "op"))
    document = spec(op.reference)
    document["data"].update(steps=8, samples=96)
    document["training"] = {"epochs": 1, "batch_size": 16}
    document["device"] = {"kind": "emulator", "tiles": 4}
    job = coder.submit(document)
    ended = coder.job(job.id).wait(SECONDS, check=False)
    assert ended.state == "succeeded", ended.message
    assert "report.html" in {artifact.name for artifact in coder.job(job.id).artifacts()}


@requires_bubblewrap
@pytest.mark.verify
def test_a_paused_training_resumes_with_its_op(coder: Connection, tmp_path: Path) -> None:
    op = coder.push_op(project(tmp_path / "op"))
    document = spec(op.reference)
    document["training"] = {"epochs": 20, "checkpoint_epochs": 1}
    job = coder.submit(document)
    is_paused = False
    for event in coder.job(job.id).watch():
        if event.kind == "checkpoint" and not is_paused:
            coder.job(job.id).pause()
            is_paused = True
        elif event.kind == "state" and event.fields["state"] == "paused":
            break
    coder.job(job.id).resume()
    ended = coder.job(job.id).wait(SECONDS, check=False)
    assert ended.state == "succeeded", ended.message
    lines = [event.fields["message"] for event in coder.job(job.id).events(kinds=["log"])]
    assert any("resumed from the checkpoint" in line for line in lines)


@requires_bubblewrap
@pytest.mark.verify
def test_an_op_reads_no_token_of_the_worker(
    stack: Stack, coder: Connection, tmp_path: Path
) -> None:
    secret = stack.token_path.read_text().strip()
    folder = project(tmp_path / "op", kernel=None)
    text = (folder / "reference.py").read_text()
    looks = (
        "import os\nprint(sorted(os.environ.items()))\n"
        f"for path in ({str(stack.token_path)!r}, '/proc/1/environ', '/proc/1/cmdline'):\n"
        "    try:\n        print(open(path, errors='replace').read())\n"
        "    except OSError as error:\n        print(type(error).__name__)\n"
    )
    (folder / "reference.py").write_text(text.replace("import json\n", f"import json\n{looks}"))
    job = coder.submit(spec(coder.push_op(folder).reference))
    ended = coder.job(job.id).wait(SECONDS, check=False)
    assert ended.state == "succeeded", ended.message
    log = "\n".join(e.fields["message"] for e in coder.job(job.id).events() if e.kind == "log")
    assert "FileNotFoundError" in log
    assert secret not in log
