"""A service that runs: inside the test's process to look behind its face, or as a program."""

from __future__ import annotations

import json
import os
import secrets
import signal
import ssl
import subprocess
import sys
import threading
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx
from sqlalchemy import func, select, update

from ipulse.stack import tls
from ipulse_core import messages
from ipulse_service.db import tables
from ipulse_service.db.engine import Database
from ipulse_service.http.app import create_app
from ipulse_service.http.state import AppState
from ipulse_service.program import listen, server
from ipulse_service.settings import Settings
from tests import local_agents
from tests.local_agents import LocalAgents

from . import conformance
from .agents import Attempt
from .conditions import eventually

ROOT = Path(__file__).resolve().parents[2]
SPEC: dict[str, Any] = {"version": 1, "name": "small", "network": {"layers": [{"neurons": 4}]}}


def settings_for(home: Path, broker_url: str, **more: Any) -> Settings:
    """Settings of a service in an empty directory, with fresh tokens."""
    home.mkdir(exist_ok=True)
    if not (home / "token").exists():
        (home / "token").write_text(secrets.token_urlsafe(32) + "\n")
    usual = {"requests_burst": 10**6}  # tests send more requests than people
    return Settings(home=home, broker_url=broker_url, port=0, **{**usual, **more})


class Service:
    """Two clients, one with each token, and what most tests do with them."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.url = ""
        self._closing = ExitStack()
        self.user: httpx.Client
        self.worker: httpx.Client

    def connect(self) -> None:
        self.user = self._closing.enter_context(self.client(self.settings.token_file))
        self.worker = self._closing.enter_context(self.agents())

    def agents(self) -> httpx.Client:
        """A client that is each local agent whose name it sends."""
        client = self.client()
        client.headers["authorization"] = f"Bearer {self.agent_token()}"  # of `claim`
        client.auth = LocalAgents(self.settings.agent_key_file.parent)
        return client

    def agent_token(self, name: str = "agent-1") -> str:
        return local_agents.token(self.settings.agent_key_file.parent, name)

    def client(self, token_file: Path | None = None) -> httpx.Client:
        headers = {messages.PROTOCOL_HEADER: str(messages.PROTOCOL)}
        if token_file is not None:
            headers["authorization"] = f"Bearer {token_file.read_text().strip()}"
        trusted = tls.machines_trust()
        if self.settings.tls_certificate is not None:
            trusted = ssl.create_default_context(cafile=self.settings.tls_certificate)
        return httpx.Client(
            base_url=self.url,
            headers=headers,
            timeout=30.0,
            verify=trusted,
            event_hooks={"response": [conformance.check]},
        )

    def close(self) -> None:
        self._closing.close()

    def wait_until_ready(self) -> None:
        """It answers before its publisher has found the broker."""
        eventually(lambda: self.user.get("/readyz").status_code == 200)

    def submit(self, spec: dict[str, Any] = SPEC, **headers: str) -> dict[str, Any]:
        response = self.user.post("/v1/jobs", json=spec, headers=headers)
        assert response.status_code == 202, response.text
        job: dict[str, Any] = response.json()
        return job

    def job(self, job_id: str) -> dict[str, Any]:
        response = self.user.get(f"/v1/jobs/{job_id}")
        assert response.status_code == 200, response.text
        job: dict[str, Any] = response.json()
        return job

    def claim(
        self, job_id: str, agent: str = "agent-1", kinds: tuple[str, ...] = ("cpu",)
    ) -> httpx.Response:
        body = {"job_id": job_id, "agent": agent, "device_kinds": [*kinds]}
        return self.worker.post("/v1/worker/claims", json=body)

    def attempt(self, job_id: str) -> Attempt:
        """The next attempt at a job, as soon as it may be claimed."""
        eventually(lambda: self.job(job_id)["state"] == "queued")
        device = self.job(job_id)["device"]
        response = self.claim(job_id, kinds=(device,))
        assert response.status_code == 200, response.text
        return Attempt(self.worker, response.json())

    def events(self, job_id: str, **query: Any) -> dict[str, Any]:
        response = self.user.get(f"/v1/jobs/{job_id}/events", params=query)
        assert response.status_code == 200, response.text
        page: dict[str, Any] = response.json()
        return page


class InProcess(Service):
    """Real HTTP from a thread of this process, so that a test can reach the database too."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.app = create_app(settings)
        self.app.openapi_schema = conformance.described()
        self._listener = listen(settings)
        self.server = server(self.app, settings, self._listener)
        self._thread = threading.Thread(target=self.server.run, args=([self._listener],))

    @property
    def state(self) -> AppState:
        state: AppState = self.app.state.services
        return state

    @property
    def database(self) -> Database:
        return self.state.database

    @property
    def loop_threads(self) -> list[int]:
        """The threads of the event loops: that of agents, and that of users."""
        threads = [self._thread, *(each for each in self._begun if each.name == "user-lane")]
        assert len(threads) == 2, threads
        return [thread.ident or 0 for thread in threads]

    def __enter__(self) -> Self:
        before = set(threading.enumerate())
        self._thread.start()
        eventually(lambda: self.server.started or not self._thread.is_alive())
        assert self.server.started, "the service did not start; its log says why"
        # It listens before it is ready if the start takes long, as on a busy machine.
        startup = self.state.startup
        eventually(lambda: startup.is_done or startup.failure)
        assert startup.is_done, startup.failure
        self._begun = set(threading.enumerate()) - before
        scheme = "https" if self.settings.tls_key else "http"
        self.url = f"{scheme}://127.0.0.1:{self._listener.getsockname()[1]}"
        self.connect()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
        self.server.handle_exit(signal.SIGTERM, None)
        self._thread.join()
        self._listener.close()

    def attempt(self, job_id: str) -> Attempt:
        """The next attempt at this very job, whatever else other tests left in the queue."""
        first = select(func.min(tables.jobs.c.queued_at) - 1).scalar_subquery()
        with self.database.write() as transaction:
            this = update(tables.jobs).where(tables.jobs.c.id == job_id)
            transaction.connection.execute(this.values(queued_at=first))
        return super().attempt(job_id)

    def job_count(self) -> int:
        with self.database.read() as transaction:
            query = select(func.count()).select_from(tables.jobs)
            return int(transaction.connection.execute(query).scalar_one())

    def expire_leases(self) -> None:
        """Expire the leases of all agents."""
        with self.database.write() as transaction:
            transaction.connection.execute(update(tables.attempts).values(lease_expires_at=0))


class Program(Service):
    """`python -m ipulse_service` in a process of its own, to be killed and started again."""

    module = "ipulse_service"

    def __init__(self, settings: Settings, **environment: str) -> None:
        super().__init__(settings)
        self._environment = environment
        self.process: subprocess.Popen[bytes] | None = None
        self.log_path = settings.home / "service.log"

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.end(signal.SIGKILL)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.end(signal.SIGKILL)

    def start(self) -> None:
        """Returns once the service says that it is ready."""
        environment = {
            **os.environ,
            "IPULSE_HOME": str(self.settings.home),
            "IPULSE_PORT": "0",
            "IPULSE_BROKER_URL": self.settings.broker_url,
            **self._environment,
        }
        command = [sys.executable, "-m", self.module]
        with self.log_path.open("ab") as log:
            self.process = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=log)
        self.url = eventually(self._announced)
        self.connect()
        self.wait_until_ready()

    def end(self, number: signal.Signals) -> int | None:
        """Sends a signal and waits for the end; returns the exit code."""
        self.close()
        if self.process is None:
            return None
        self.process.send_signal(number)
        code = self.process.wait(timeout=30)
        self.process = None
        return code

    def _announced(self) -> str:
        """The URL that this process said it listens on, or nothing yet."""
        assert self.process is not None
        assert self.process.poll() is None, self.log_path.read_text()
        try:
            info = json.loads((self.settings.home / "server.json").read_text())
        except FileNotFoundError:
            return ""
        # A killed predecessor could not take its own away.
        return str(info["url"]) if info["pid"] == self.process.pid else ""
