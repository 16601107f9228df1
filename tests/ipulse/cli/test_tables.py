"""Tables fit a terminal of 80 columns; pipes and --wide have every cell as it is."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ipulse.cli.tables import fitted, least_varied_first, narrowed
from ipulse.client import Connection
from tests.ipulse.cli.conftest import SPEC, Run, environment
from tests.ipulse.live_service import ROOT, LiveService

NAME = "a-name-" * 17


@contextmanager
def code_token(service: LiveService) -> Iterator[str]:
    """A token that may push ops."""
    with Connection(service.url, service.token) as client:
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


def test_lists_fit_a_terminal(run: Run, client: Connection, service: LiveService) -> None:
    """Check that the shown part of an id or digest is enough to name it."""
    job = client.submit({**SPEC, "name": NAME})
    with code_token(service) as token:
        op = run("op", "push", str(ROOT / "examples/ops/leaky"), IPULSE_TOKEN=token).out.strip()
        listed = on_a_terminal(service, "list", f"id:{job.id}")
        ops = on_a_terminal(service, "op", "list")
        assert max(map(len, [*listed, *ops])) <= 80
        assert all(line.isprintable() for line in [*listed, *ops]), "NO_COLOR: no escapes"
        short_id, name = listed[1].split()[:2]
        assert (len(listed), client.job(short_id).id) == (2, job.id)
        assert NAME.startswith(name.rstrip("…"))
        assert len(name) >= 12
        for options in (("list", f"id:{job.id}"), ("op", "list")):
            whole = on_a_terminal(service, *options, "--wide")
            assert whole == run(*options).out.splitlines()
            assert any(full in line for full in (f"{job.id}  {NAME}", op) for line in whole)
        short_op = ops[1].split()[0]
        assert len(short_op) < len(op)
        deleted = run("op", "delete", short_op, "--yes", "--json", IPULSE_TOKEN=token)
        assert deleted.json == {"deleted": op}
    client.job(job.id).cancel()


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


@pytest.mark.parametrize("width", [30, 80, 200])
def test_columns_that_do_not_fit_are_left_out_and_named(width: int) -> None:
    headers = ["ID", *(f"setting_{n:02}" for n in range(12))]
    row = ["tok_0123456789", *(f"{n}" for n in range(12))]
    shown, gone = narrowed([headers, row], width, spare=range(12, 0, -1))
    assert [*shown[0], *gone] == headers
    assert shown[1][0] == row[0]
    assert (gone == []) == (width == 200)
    assert sum(max(map(len, column)) + 2 for column in zip(*shown, strict=True)) - 2 <= width


def test_settings_that_differ_least_go_first() -> None:
    rows = [["1", "a", "x", "s"], ["2", "a", "y", "s"], ["3", "b", "z", "s"]]
    assert least_varied_first(rows, range(4)) == [3, 1, 2, 0]


def test_a_wide_comparison_fits_a_terminal(
    run: Run, client: Connection, service: LiveService
) -> None:
    settings = [
        {
            "batch_size": n,
            "epochs": n,
            "optimizer": {"learning_rate": n / 8, "beta_1": n / 16, "beta_2": n / 7},
        }
        for n in range(1, 7)
    ]
    jobs = [
        client.submit({**SPEC, "seed": n, "training": training}).id
        for n, training in enumerate(settings)
    ]
    metrics = ("--metrics", "test_accuracy,test_loss")
    for options in (
        metrics,
        (*metrics, "--group-by", "learning_rate,beta_1,beta_2,epochs,batch_size,seed"),
    ):
        shown = on_a_terminal(service, "compare", *jobs, *options)
        assert max(map(len, shown)) <= 80
        whole = run("compare", *jobs, *options)
        assert max(map(len, whole.out.splitlines())) > 80
        assert "--wide" not in whole.err
        assert on_a_terminal(service, "compare", *jobs, *options, "--wide") == [
            line.rstrip() for line in whole.out.splitlines()
        ]
    assert "learning" in shown[0]
    for job_id in jobs:
        client.job(job_id).cancel()


def test_a_wide_sweep_fits_a_terminal(
    run: Run, client: Connection, service: LiveService, spec_file: Path
) -> None:
    names = ["learning_rate=0.1,0.2", "batch_size=4", "epochs=1", "seed=3", "beta_1=0.5"]
    names += ["beta_2=0.75", "layers[0].neurons=8"]
    vary = [part for name in names for part in ("--vary", name)]
    sweep_id = run("sweep", "run", str(spec_file), *vary).out.strip()
    shown = on_a_terminal(service, "sweep", "show", sweep_id)
    [head] = [line for line in shown if line.startswith("TRIAL")]
    assert "learning_rate" in head
    assert max(map(len, shown[shown.index(head) :])) <= 80
    whole = on_a_terminal(service, "sweep", "show", sweep_id, "--wide")
    assert whole == run("sweep", "show", sweep_id).out.splitlines()
    assert any("beta_2" in line for line in whole)
    client.sweep(sweep_id).stop()


def test_a_digest_keeps_the_digits_that_commands_need() -> None:
    rows = [["OP", "BACK ENDS"], [f"leaky@sha256:{'0123456789abcdef' * 4}", "cpu, emulator, ipu"]]
    for width in (24, 40, 60):
        (_, (reference, _)) = fitted(rows, width)
        assert re.search("@sha256:[0-9a-f]{6}", reference), width
