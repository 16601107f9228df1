"""A user's own op from the folder to the trained network, through a real service and agent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ipulse.client import Client
from ipulse.stack.stack import Stack
from ipulse_core.errors import InvalidInput, NotPermitted
from tests.acceptance.sandbox import sandbox_problem
from tests.worker.runner.op.packages import project

SECONDS = 300.0

requires_bubblewrap = pytest.mark.skipif(bool(sandbox_problem()), reason=sandbox_problem())


@pytest.fixture(scope="module")
def coder(stack: Stack) -> Iterator[Client]:
    """A client with a token that may submit code."""
    with Client(stack.url, token_file=stack.token_path) as owner:
        token = owner.create_token("op coder", "user", 3600, submit_code=True)
    with Client(stack.url, token.secret) as made:
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
    client: Client, coder: Client, tmp_path: Path
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


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"neurons": 32}, "/network/layers/1/neurons"),
        ({"attributes": {"width": 0}}, "/network/layers/1/attributes/width"),
        ({"attributes": {"width": "two"}}, "/network/layers/1/attributes/width"),
        ({"attributes": {"height": 2}}, "/network/layers/1/attributes/height"),
        ({"op": "pool_op@sha256:" + "0" * 64}, "/network/layers/1/op"),
    ],
)
def test_a_layer_that_does_not_fit_its_op_is_refused_with_its_place(
    coder: Client, tmp_path: Path, changes: dict[str, Any], pointer: str
) -> None:
    op = coder.push_op(project(tmp_path / "op"))
    with pytest.raises(InvalidInput) as refused:
        coder.submit(spec(op.reference, **changes))
    assert pointer in [problem.pointer for problem in refused.value.problems]


@requires_bubblewrap
def test_a_network_with_the_op_is_trained(coder: Client, tmp_path: Path) -> None:
    op = coder.push_op(project(tmp_path / "op"))
    job = coder.submit(spec(op.reference))
    ended = coder.wait(job.id, SECONDS)
    assert ended.state == "succeeded", ended.message
    summary = ended.summary or {}
    assert summary["test_accuracy"] > 0.15  # guessing gives 0.1
    names = {artifact.name for artifact in coder.artifacts(job.id)}
    assert {"report.html", "weights.npz", "manifest.json"} <= names
    # The op may go: the job keeps the package that it used.
    coder.delete_op(op.reference)
    assert op.reference not in [found.reference for found in coder.ops()]
    with pytest.raises(InvalidInput):
        coder.submit(spec(op.reference))
