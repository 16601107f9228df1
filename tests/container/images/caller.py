"""Calls a service with the command line, as its users do."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.container.images.examples import EXAMPLES, Job, data_set
from tests.container.left_by_jobs import left

CLIENT = Path(sys.executable).parent / "ipulse"


class Caller:
    """One service, and a folder for what is sent to it and what comes from it."""

    def __init__(
        self, inside: Sequence[str], environment: Mapping[str, str], scratch: Path
    ) -> None:
        """Take the way to a service.

        inside: a command's beginning that enters the service's network.
        environment: with address and token.
        """
        self._inside = inside
        self._environment = dict(environment)
        self._scratch = scratch
        self._op = ""
        scratch.mkdir(parents=True)
        created = self("token", "create", "coder", "--role", "user", "--submit-code").split()[-1]
        self._environment["IPULSE_TOKEN"] = created

    def __call__(self, *arguments: str, check: bool = True) -> str:
        """Run a command of the client and return what it prints."""
        done = subprocess.run(
            [*self._inside, str(CLIENT), *arguments],
            env=self._environment,
            stdout=subprocess.PIPE,
            text=True,
            check=check,
        )
        return done.stdout

    def submit(self, job: Job, made: dict[str, Path]) -> str:
        """Send what a job uses, then the job, and return its id.

        made: data sets by name, which scripts wrote.
        """
        settings = list(job.settings)
        if job.op:
            settings.append(f"network.layers[1].op={self._pushed(job.op)}")
        data = data_set(job.file, self._scratch, made)
        if data is not None:
            self("data", "push", str(data))
        words = [word for setting in settings for word in ("--set", setting)]
        return self("submit", str(job.file), *words).strip()

    def result(self, job_id: str) -> dict[str, Any]:
        """Wait for the end of a job and return what it left, to the bit."""
        self("watch", job_id, check=False)
        status = json.loads(self("status", job_id, "--json"))
        if status["state"] != "succeeded":
            return {name: status[name] for name in ("state", "reason", "message")}
        folder = self._scratch / job_id
        self("download", job_id, "--to", str(folder))
        files = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
        logged = [json.loads(line) for line in self("logs", job_id, "--json").splitlines()]
        printed = [line["message"] for line in logged if line.get("stream") == "stdout"]
        return left(status["summary"], files, printed)

    def _pushed(self, op: str) -> str:
        """Push an op's folder and return its reference."""
        folder = EXAMPLES / op
        if op == "new":
            folder = self._scratch / "pool_op"
            if not folder.exists():
                self("op", "new", "pool_op", "--layer", "--to", str(folder))
        return self("op", "push", str(folder)).strip()
