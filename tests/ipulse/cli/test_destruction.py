"""Commands that destroy something do nothing until somebody has said yes."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ipulse.cli.command_list import COMMANDS, GROUPS, load
from ipulse.client import Connection
from ipulse_core.states import JobState
from tests.ipulse.cli.conftest import SPEC, Run

# What destroys is named so, in commands and in the client.
VERBS = (
    "clear",
    "delete",
    "drop",
    "erase",
    "forget",
    "leave",
    "prune",
    "purge",
    "remove",
    "revoke",
)
DESTRUCTIVE = {
    "delete",
    "agent leave",
    "agent remove",
    "agent token",
    "cache prune",
    "data delete",
    "op delete",
    "pool delete",
    "project member",
    "sweep delete",
    "token revoke",
    "webhook delete",
}


def tree() -> Iterator[tuple[str, Callable[..., int]]]:
    yield from ((name, load(place)) for name, place in COMMANDS.items())
    for group, commands in GROUPS.items():
        yield from ((f"{group} {name}", load(place)) for name, place in commands.items())


def calls(command: Callable[..., int]) -> set[str]:
    """Names of the methods that a command calls, and the functions of its module for it."""
    command = inspect.unwrap(command)
    module = ast.parse(Path(inspect.getfile(command)).read_text("utf-8"))
    functions = {each.name: each for each in module.body if isinstance(each, ast.FunctionDef)}
    found: set[str] = set()
    waiting = [command.__name__]
    while waiting:
        function = functions.pop(waiting.pop(), None)
        for node in ast.walk(function) if function else ():
            if isinstance(node, ast.Name):
                waiting.append(node.id)
            elif isinstance(node, ast.Attribute):
                found.add(node.attr)
    return found


def destroys(name: str, command: Callable[..., int]) -> bool:
    words = {name.split()[-1], *(called.split("_")[0] for called in calls(command))}
    return bool(words & set(VERBS))


def test_no_command_that_destroys_is_without_its_question() -> None:
    found = {name for name, command in tree() if destroys(name, command)}
    assert found == DESTRUCTIVE, "a new one needs `confirm`, `--yes` and a case here"
    for name, command in tree():
        if name in found:
            assert "yes" in inspect.signature(command).parameters, name
            assert "confirm" in Path(inspect.getfile(inspect.unwrap(command))).read_text("utf-8")


def ended_job(client: Connection) -> str:
    return client.submit(SPEC).cancel().id


def test_a_job_stays(run: Run, client: Connection) -> None:
    job_id, other = ended_job(client), ended_job(client)
    refused = run("delete", job_id)
    assert (refused.code, refused.out) == (2, "")
    assert all(part in refused.err for part in (job_id, "small", "cancelled", "--yes"))
    several = run("delete", job_id, other, "--json")
    assert several.code == 2
    assert job_id in several.err
    assert other in several.err
    assert run("delete", "-q", f"id:{job_id}").code == 2
    assert {client.job(each).state for each in (job_id, other)} == {JobState.CANCELLED}
    assert run("delete", job_id, other, "--yes").code == 0
    assert run("status", job_id).code == 3


def test_of_several_jobs_none_is_deleted_while_one_is_open(run: Run, client: Connection) -> None:
    job_id, is_open = ended_job(client), client.submit(SPEC).id
    refused = run("delete", job_id, is_open, "--yes")
    assert refused.code == 7
    assert is_open in refused.err
    assert client.job(job_id).state is JobState.CANCELLED
    client.job(is_open).cancel()


def test_a_sweep_stays(run: Run, client: Connection) -> None:
    definition = {
        "sweep": "to be kept",
        "spec": SPEC,
        "parameters": {"/training/optimizer/learning_rate": {"values": [0.1]}},
    }
    sweep_id = client.create_sweep(definition).id
    refused = run("sweep", "delete", sweep_id)
    assert refused.code == 2
    assert all(part in refused.err for part in (sweep_id, "to be kept", "--yes"))
    assert client.sweep(sweep_id).id == sweep_id
    client.sweep(sweep_id).stop("cancel")


def test_a_token_stays(run: Run, client: Connection) -> None:
    made = run("token", "create", "ann", "--role", "reader", "--json").json["about"]
    refused = run("token", "revoke", made["id"])
    assert refused.code == 2
    assert "ann" in refused.err
    assert made["id"] in [token.id for token in client.tokens()]
    assert run("token", "revoke", made["id"], "--yes").code == 0


@pytest.mark.parametrize(
    "command",
    [
        ("agent", "revoke", "some-id"),
        ("agent", "remove", "pod"),
        ("op", "delete", "op@sha256:0"),
        ("project", "member", "default", "--remove", "alice"),
    ],
)
def test_it_says_what_it_would_do(run: Run, command: tuple[str, ...]) -> None:
    refused = run(*command)
    assert refused.code == 2
    assert command[-1] in refused.err
    assert "--yes" in refused.err


def test_cached_programs_stay(offline: Run, tmp_path: Path) -> None:
    entry = tmp_path / "emulator" / "abc.executable"
    entry.parent.mkdir()
    entry.write_bytes(b"x" * 4096)
    refused = offline("cache", "prune", "--bytes", "0", HOME=str(tmp_path))
    assert refused.code == 2
    assert "--yes" in refused.err
    assert entry.exists()
