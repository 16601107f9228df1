"""Makes homes of earlier commits for the tests of upgrades.

    .venv/bin/python -m tests.service.upgrade.make_homes COMMIT [COMMIT ...]

Each commit gets a worktree in a temporary folder and its own environment (`scripts/setup runtime`).
Its stack runs twice, with SQLite and with PostgreSQL, while its own command line and plain HTTP
submit jobs. The copy is made while the stack runs, so that a running job is stored as running.
Results are `homes/COMMIT-DATABASE.tar.xz` in this folder; `known.json` in an archive lists its jobs
with their keys and specs.
"""

from __future__ import annotations

import io
import json
import os
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx

from ipulse_service.selftest.postgresql import programs
from tests.service.postgresql_server import PostgreSQLServer

ROOT = Path(__file__).resolve().parents[3]
HOMES = Path(__file__).parent / "homes"
WAIT_SECONDS = 900  # a busy machine imports TensorFlow in minutes

_DATA = {"kind": "digits", "samples": 100, "steps": 10}
_NETWORK = {"layers": [{"neurons": 4}]}
_SHORT = {"epochs": 1, "batch_size": 50}
# Long enough to be stored while it runs, short enough for a test to train to the end.
_LONG = {"epochs": 400, "batch_size": 50, "checkpoint_epochs": 5}

# Starts the stack of a checkout on a database that its command line does not take.
_UP = """
import importlib, inspect, sys
try:
    stack = importlib.import_module("ipulse.stack.stack")
except ImportError:
    stack = importlib.import_module("ipulse.stack")
from ipulse.cli import main
begin = stack.Stack.__init__
def begin_on(self, *given, **named):
    call = inspect.signature(begin).bind(self, *given, **named)
    call.arguments["database_url"] = URL
    begin(*call.args, **call.kwargs)
if URL:
    stack.Stack.__init__ = begin_on
sys.argv = ["ipulse", "up", "--port", "0"]
sys.exit(main())
"""


def main() -> None:
    """Makes the homes of the commits on the command line."""
    HOMES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="ipulse-homes-") as scratch:
        for commit in sys.argv[1:]:
            with _checkout(commit, Path(scratch) / commit) as checkout:
                _make(commit, checkout, Path(scratch) / f"{commit}-sqlite", None)
                with PostgreSQLServer(programs()) as server:
                    url = server.new_database()
                    _make(commit, checkout, Path(scratch) / f"{commit}-postgresql", url)


@contextmanager
def _checkout(commit: str, folder: Path) -> Iterator[Path]:
    """Makes a worktree with its environment, for as long as the block lasts."""
    git = ["git", "-C", str(ROOT), "worktree"]
    subprocess.run([*git, "add", "--quiet", "--detach", str(folder), commit], check=True)
    try:
        subprocess.run(["scripts/setup", "runtime"], cwd=folder, check=True)
        yield folder
    finally:
        subprocess.run([*git, "remove", "--force", str(folder)], check=True)


def _make(commit: str, checkout: Path, home: Path, url: str | None) -> None:
    python = checkout / ".venv" / "bin" / "python"
    environment = {**os.environ, "IPULSE_HOME": str(home)}
    stack = subprocess.Popen(
        [python, "-c", _UP.replace("URL", repr(url))], cwd=checkout, env=environment
    )
    try:
        _until(lambda: (home / "server.json").exists())
        known = _Filling(checkout, home, environment).fill()
        known["commit"] = commit
        with tarfile.open(HOMES / f"{commit}-{_kind(url)}.tar.xz", "w:xz", preset=9) as archive:
            _add(archive, "known.json", json.dumps(known, indent=1).encode())
            # A checkpoint that the copy of the database has may be replaced by a later one.
            files = _files(home)
            name, content = _database(home, url)
            for member, data in {name: content, **files, **_files(home)}.items():
                _add(archive, member, data)
    finally:
        stack.terminate()
        stack.wait()


class _Filling:
    """Submits jobs to a stack and waits until each is in the state that it is stored in."""

    def __init__(self, checkout: Path, home: Path, environment: dict[str, str]) -> None:
        self._cli = checkout / ".venv" / "bin" / "ipulse"
        self._environment = environment
        token = (home / "token").read_text().strip()
        self._client = httpx.Client(
            base_url=json.loads((home / "server.json").read_text())["url"],
            headers={"authorization": f"Bearer {token}"},
            timeout=60,
        )
        self._jobs: list[dict[str, Any]] = []

    def fill(self) -> dict[str, Any]:
        """Returns what is known of the home; there is one agent, so that jobs wait."""
        ended = self._post("succeeded", _SHORT)
        self._wait(ended, "succeeded")
        paused = self._submit("paused", _LONG)
        self._wait_for_checkpoint(paused)
        self._ask(paused, "pause")
        self._wait(paused, "paused")
        running = self._post("running", _LONG)
        self._submit("queued", _SHORT)
        cancelled = self._submit("cancelled", _SHORT)
        self._ask(cancelled, "cancel")
        self._wait(cancelled, "cancelled")
        self._wait_for_checkpoint(running)
        version = self._client.get("/openapi.json").json()["info"]["version"]
        return {"version": version, "jobs": self._jobs}

    def _post(self, name: str, training: dict[str, Any]) -> str:
        """Submits a spec as it was written, by HTTP."""
        spec = _spec(name, training)
        response = self._client.post("/v1/jobs", json=spec, headers={"idempotency-key": name})
        response.raise_for_status()
        return self._note(response.json()["id"], name, spec)

    def _submit(self, name: str, training: dict[str, Any]) -> str:
        """Submits a spec with the command line of that version."""
        spec = _spec(name, training)
        command = [self._cli, "submit", "-", "--key", name, "--json"]
        done = subprocess.run(
            command,
            input=json.dumps(spec).encode(),
            env=self._environment,
            stdout=subprocess.PIPE,
            check=True,
        )
        return self._note(json.loads(done.stdout)["id"], name, spec)

    def _note(self, job_id: str, name: str, spec: dict[str, Any]) -> str:
        self._jobs.append({"id": job_id, "state": name, "key": name, "spec": spec})
        return job_id

    def _ask(self, job_id: str, verb: str) -> None:
        self._client.post(f"/v1/jobs/{job_id}/{verb}").raise_for_status()

    def _wait(self, job_id: str, state: str) -> None:
        def is_reached() -> bool:
            job = self._client.get(f"/v1/jobs/{job_id}").json()
            if job["state"] == "failed":
                raise RuntimeError(f"the job failed: {job['reason']}: {job['message']}")
            return bool(job["state"] == state)

        _until(is_reached)

    def _wait_for_checkpoint(self, job_id: str) -> None:
        def has_one() -> bool:
            files = self._client.get(f"/v1/jobs/{job_id}/artifacts").json()["artifacts"]
            return any(file["role"] == "checkpoint" for file in files)

        _until(has_one)


def _spec(name: str, training: dict[str, Any]) -> dict[str, Any]:
    shared = {"version": 1, "name": name, "data": _DATA, "network": _NETWORK}
    return {**shared, "training": training}


def _kind(url: str | None) -> str:
    return "postgresql" if url else "sqlite"


def _database(home: Path, url: str | None) -> tuple[str, bytes]:
    """Returns the name and the content of a copy of the database in use."""
    if url is not None:
        command = [programs() / "pg_dump", "--no-owner", url]
        return "ipulse.sql", subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    copy = home / "copy.db"
    with closing(sqlite3.connect(home / "ipulse.db")) as live, closing(sqlite3.connect(copy)) as to:
        live.backup(to)
    return "ipulse.db", copy.read_bytes()


def _files(home: Path) -> dict[str, bytes]:
    """Returns the tokens and the stored files by their paths in the home."""
    paths = [*home.glob("*token"), *(home / "artifacts" / "sha256").rglob("*")]
    return {str(p.relative_to(home)): p.read_bytes() for p in sorted(paths) if p.is_file()}


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    member.mode = 0o600
    archive.addfile(member, io.BytesIO(content))


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("the stack does not get there")
        time.sleep(0.02)


if __name__ == "__main__":
    main()
