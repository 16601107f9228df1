"""IPUlse: the service with its broker, and an agent with a runner that trains nothing."""

from __future__ import annotations

import contextlib
import json
import secrets
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx

from benchmarks.service.payload import NOTHING, Order
from benchmarks.service.systems.system import JSON, Call, System, free_port
from ipulse.agent_tokens import token_of
from ipulse.key_file import key_in
from ipulse.stack.stack import AGENT_NICE
from ipulse_core import messages
from tests.service.agents import PHASES, Attempt, phase

SPEC = {"version": 1, "name": "load", "network": {"layers": [{"neurons": 4}]}}


class IpulseSystem(System):
    """IPUlse on SQLite, or on the PostgreSQL database of a URL."""

    health = "/v1/jobs?page_size=1"
    front, back = "service", "agent"

    def __init__(self, home: Path, database_url: str = "") -> None:
        super().__init__(home)
        self.name = "IPUlse, PostgreSQL" if database_url else "IPUlse, SQLite"
        self._database_url = database_url or f"sqlite:///{home / 'ipulse.db'}"

    def start(self) -> None:
        """Start Redis and the service."""
        (self.home / "token").write_text(secrets.token_urlsafe(32))
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self._environment = {
            "IPULSE_HOME": str(self.home),
            "IPULSE_PORT": str(port),
            "IPULSE_BROKER_URL": self.broker().url,
            "IPULSE_DATABASE_URL": self._database_url,
            "IPULSE_REQUESTS_BURST": "1000000",  # one token stands for many people
        }
        self.run(self.front, ["ipulse_service"], self._environment)
        self.await_health()

    def start_worker(self) -> None:
        """Start an agent."""
        work = self.home / "work"
        work.mkdir(mode=0o700)
        agent = {
            "IPULSE_SERVICE_URL": self.url,
            "IPULSE_AGENT_KEY_FILE": str(self.home / "agent-key"),
            "IPULSE_WORK_DIR": str(work),
            "IPULSE_RUNNER_MODULE": "benchmarks.service.payload_runner",
            "IPULSE_WARM": "0",  # each job starts a process, as with the peers
            "IPULSE_NICE": AGENT_NICE,
        }
        self.run(self.back, ["ipulse_worker.agent"], {**self._environment, **agent})

    def headers(self) -> dict[str, str]:
        """Return the user's token."""
        return {"authorization": f"Bearer {(self.home / 'token').read_text()}"}

    def submission(self, order: Order = NOTHING) -> Call:
        """Return a submission with an idempotency key."""
        spec = {**SPEC, "metadata": {"order": order.to_json()}}
        headers = {**JSON, "idempotency-key": str(uuid.uuid4())}
        return Call("POST", "/v1/jobs", json.dumps(spec).encode(), headers)

    def status(self, job: str) -> Call:
        """Return the request for a job's state."""
        return Call("GET", f"/v1/jobs/{job}")

    def see_end(self, http: httpx.Client, job: str) -> str:
        """Wait for the job's end with `Prefer: wait`."""
        answer = http.get(f"/v1/jobs/{job}", headers={"prefer": "wait=30"}).raise_for_status()
        return str(answer.json()["state"])

    def newest(self) -> Call:
        """Return the request for the first page of jobs."""
        return Call("GET", "/v1/jobs?page_size=100")

    @contextlib.contextmanager
    def attempt(self, http: httpx.Client, job: str) -> Iterator[Attempt]:
        """Claim a queued job as an agent would; jobs ahead of it in the queue are claimed, too."""
        token = token_of(key_in(self.home / "agent-key"), "load")
        headers = {
            "authorization": f"Bearer {token}",
            messages.PROTOCOL_HEADER: str(messages.PROTOCOL),
        }
        with httpx.Client(base_url=self.url, headers=headers, timeout=60.0) as worker:
            body = {"job_id": job, "agent": "load", "device_kinds": ["cpu"]}
            claimed = {"job_id": ""}
            while claimed["job_id"] != job:
                claimed = worker.post("/v1/worker/claims", json=body).raise_for_status().json()
            yield Attempt(worker, claimed)

    def store_file(self, path: Path) -> Call:
        """Upload a file as a job's artifact; return the request for it."""
        with self.uploading(path) as upload:
            upload()
        with self.http() as http:
            job = http.get(self.newest().path).raise_for_status().json()["jobs"][0]["id"]
            (artifact,) = http.get(f"/v1/jobs/{job}/artifacts").json()["artifacts"]
        return Call("GET", f"/v1/jobs/{job}/artifacts/{artifact['id']}/content")

    @contextlib.contextmanager
    def uploading(self, path: Path) -> Iterator[Callable[[], object]]:
        """Yield a function that uploads a file as a running attempt; the service checks it."""
        content = path.read_bytes()
        with self.http() as http:
            job = self.submit(http, NOTHING)
            with self.attempt(http, job) as attempt:
                for name in PHASES:
                    attempt.report(phase(name)).raise_for_status()
                yield lambda: attempt.put("weights.npz", "weights", content).raise_for_status()
                attempt.finish("out_of_memory")
