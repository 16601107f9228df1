"""Tables fit a terminal of 80 columns; pipes and --wide have every cell as it is."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from ipulse.cli.tables import fitted
from ipulse.client import Client
from tests.ipulse.cli.conftest import SPEC, Run, environment
from tests.ipulse.live_service import ROOT, LiveService

NAME = "a-name-" * 17


@contextmanager
def code_token(service: LiveService) -> Iterator[str]:
    """A token that may push ops."""
    with Client(service.url, service.token) as client:
        made = client.create_token("coder", "user", 600, submit_code=True)
        yield made.secret
        client.revoke_token(made.id)


def on_a_terminal(service: LiveService, *arguments: str) -> list[str]:
    """The lines that a command writes to a terminal."""
    ours, theirs = pty.openpty()
    env = environment(IPULSE_HOME=str(service.home), NO_COLOR="1", TERM="xterm")
    command = [sys.executable, "-m", "ipulse", *arguments]
    with subprocess.Popen(command, stdout=theirs, env=env) as running:
        os.close(theirs)
        shown = b""
        try:
            while part := os.read(ours, 4096):
                shown += part
        except OSError:  # the other end is closed: how Linux ends a terminal
            pass
        os.close(ours)
    assert running.returncode == 0
    return shown.decode().splitlines()


def test_lists_fit_a_terminal(run: Run, client: Client, service: LiveService) -> None:
    """Check that the shown part of an id or digest is enough to name it."""
    job = client.submit({**SPEC, "name": NAME})
    with code_token(service) as token:
        op = run("op", "push", str(ROOT / "examples/ops/leaky"), IPULSE_TOKEN=token).out.strip()
        listed = on_a_terminal(service, "list", f"id:{job.id}")
        ops = on_a_terminal(service, "op", "list")
        assert max(map(len, [*listed, *ops])) <= 80
        assert all(line.isprintable() for line in [*listed, *ops]), "NO_COLOR: no escapes"
        short_id, name = listed[1].split()[:2]
        assert (len(listed), client.find_id(short_id)) == (2, job.id)
        assert NAME.startswith(name.rstrip("…"))
        assert len(name) >= 12
        for options in (("list", f"id:{job.id}"), ("op", "list")):
            whole = on_a_terminal(service, *options, "--wide")
            assert whole == run(*options).out.splitlines()
            assert any(full in line for full in (f"{job.id}  {NAME}", op) for line in whole)
        short_op = ops[1].split()[0]
        assert len(short_op) < len(op)
        deleted = run("op", "delete", short_op, "--json", IPULSE_TOKEN=token)
        assert deleted.json == {"deleted": op}
    client.cancel(job.id)


@pytest.mark.parametrize("width", [20, 44, 80, 500])
def test_ids_and_times_are_not_cut(width: int) -> None:
    row = ["tok_0123456789", NAME, NAME, "2026-01-02 03:04"]
    headers, shown = fitted([["ID", "NAME", "NOTE", "CREATED"], row], width)
    assert headers == ["ID", "NAME", "NOTE", "CREATED"]
    assert (shown[0], shown[3]) == (row[0], row[3])
    assert len(shown[1]) == len(shown[2]) or width == 80
    line = sum(map(len, shown)) + 2 * 3
    assert line <= max(width, len(row[0]) + len(row[3]) + 2 * 8 + 2 * 3)
    assert (shown[1] == NAME) == (width == 500)
