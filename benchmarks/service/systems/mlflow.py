"""MLflow: its tracking server on SQLite, which keeps records of runs."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

from benchmarks.common.environments import python_of
from benchmarks.common.tables import ROOT
from benchmarks.service.programs import Programs
from benchmarks.service.systems.system import START_SECONDS, await_answer, free_port

PACKAGE = "benchmarks.service.systems"
NO_TELEMETRY = {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true"}


class MlflowSystem:
    """A tracking server with the runs that it is given; it runs while its context is open."""

    def __init__(self, home: Path, runs: Iterable[dict[str, Any]]) -> None:
        """Fills the database in `home`. Raises MissingEnvironment."""
        home.mkdir(parents=True)
        self._home = home
        self._python = python_of("mlflow", Path(__file__).parent)
        self._closing = contextlib.ExitStack()
        self._uri = f"sqlite:///{home / 'mlflow.db'}"
        port = free_port()
        self._port = str(port)
        self.url = f"http://127.0.0.1:{port}"
        self.experiment_id = self._fill(runs)

    def __enter__(self) -> Self:
        programs = Programs(self._home)
        options = ["--host", "127.0.0.1", "--port", self._port, "--backend-store-uri", self._uri]
        artifacts = ["--artifacts-destination", str(self._home / "artifacts")]
        # On a busy machine uvicorn ends a process that is silent for 5 seconds, with its requests.
        patient = ["--uvicorn-opts", "--timeout-worker-healthcheck 120"]
        command = ["mlflow", "server", *options, *artifacts, *patient]
        self._closing.callback(programs.end, "server")
        programs.start("server", command, NO_TELEMETRY, self._python)
        try:
            await_answer(f"{self.url}/health", "MLflow")
            programs.await_idle(START_SECONDS)  # the first of its processes answers before the last
        except BaseException:
            self._closing.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.close()

    def _fill(self, runs: Iterable[dict[str, Any]]) -> str:
        with subprocess.Popen(
            [self._python, "-m", f"{PACKAGE}.mlflow_rows", self._uri],
            cwd=ROOT,
            env={**os.environ, **NO_TELEMETRY},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            for run in runs:
                process.stdin.write(json.dumps(run) + "\n")
            process.stdin.close()
            experiment_id = process.stdout.read().strip()
        if process.returncode:
            raise RuntimeError(f"MLflow's database could not be filled: {process.returncode}")
        return experiment_id
