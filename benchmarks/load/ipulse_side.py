"""IPUlse itself: the service with its real broker, and an agent whose runner trains nothing."""

from __future__ import annotations

import contextlib
import itertools
import json
import secrets
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
from sqlalchemy import Table, func, insert, select

from benchmarks.load.payload import Order
from benchmarks.load.restartable_side import RestartableSide
from benchmarks.load.side import Call, free_port
from ipulse.stack.stack import AGENT_NICE
from ipulse_service.db import tables
from ipulse_service.db.engine import Database
from ipulse_worker.agent.service_api import ServiceAPI
from ipulse_worker.agent.supervision.lease import AttemptLease
from ipulse_worker.agent.uploads.outgoing_file import Outgoing
from tests.service.agents import PHASES, Attempt, phase

SPEC = {"version": 1, "name": "load", "network": {"layers": [{"neurons": 4}]}}
ROWS_AT_ONCE = 5_000
# Tables whose rows belong to a job, in an order that their references allow.
OF_A_JOB = (tables.attempts, tables.events, tables.artifacts)


class IpulseSide(RestartableSide):
    """On SQLite, unless it is given the URL of a PostgreSQL database."""

    promise = (
        "row, key and promised wake-up are one fsync'ed commit; nothing accepted is lost with any "
        "process or with Redis; every request is authenticated"
    )
    health = "/v1/jobs?page_size=1"
    front, back = "service", "agent"

    def __init__(self, home: Path, database_url: str = "") -> None:
        super().__init__(home)
        self._agents = itertools.count(1)
        self.name = "IPUlse, PostgreSQL" if database_url else "IPUlse, SQLite"
        self._database_url = database_url or f"sqlite:///{home / 'ipulse.db'}"

    def start(self) -> None:
        for name in ("token", "worker-token"):
            (self.home / name).write_text(secrets.token_urlsafe(32))
        broker = self.broker()
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self._environment = {
            "IPULSE_HOME": str(self.home),
            "IPULSE_PORT": str(port),
            "IPULSE_BROKER_URL": broker.url,
            "IPULSE_DATABASE_URL": self._database_url,
        }
        self.start_service()

    def launch_service(self) -> None:
        self.run(self.front, ["ipulse_service"], self._environment)

    def start_worker(self) -> None:
        """As on another machine: it knows nothing of what an agent before it held."""
        work = self.home / f"work-{next(self._agents)}"
        work.mkdir(mode=0o700)
        mine = {
            "IPULSE_SERVICE_URL": self.url,
            "IPULSE_WORKER_TOKEN_FILE": str(self.home / "worker-token"),
            "IPULSE_WORK_DIR": str(work),
            "IPULSE_RUNNER_MODULE": "benchmarks.load.payload_runner",
            "IPULSE_WARM": "0",  # each job is a cold process, as with the others
            "IPULSE_NICE": AGENT_NICE,  # as `ipulse up` does
        }
        self.run(self.back, ["ipulse_worker.agent"], {**self._environment, **mine})

    def headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {(self.home / 'token').read_text()}"}

    def worker(self) -> httpx.Client:
        """A client that speaks as an agent does."""
        token = (self.home / "worker-token").read_text()
        headers = {"authorization": f"Bearer {token}", "ipulse-protocol": "5"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=60.0)

    def claim(self, worker: httpx.Client, job: str) -> Attempt:
        """An attempt at this job, which is queued; those before it in the queue are held, too."""
        body = {"job_id": job, "agent": "load", "device_kinds": ["cpu"]}
        while True:
            response = worker.post("/v1/worker/claims", json=body)
            assert response.status_code == httpx.codes.OK, response.text
            claimed = response.json()
            if claimed["job_id"] == job:
                return Attempt(worker, claimed)

    def submission(self, order: Order = Order()) -> Call:  # noqa: B008 - it is frozen
        headers = {"content-type": "application/json", "idempotency-key": str(uuid.uuid4())}
        spec = {**SPEC, "metadata": {"order": order.to_json()}}
        return Call("POST", "/v1/jobs", json.dumps(spec).encode(), headers)

    def status(self, job: str) -> Call:
        return Call("GET", f"/v1/jobs/{job}")

    def see_end(self, http: httpx.Client, job: str) -> str:
        answer = http.get(f"/v1/jobs/{job}", headers={"prefer": "wait=30"}).raise_for_status()
        return self.state_of(answer.json())

    def newest(self) -> Call:
        return Call("GET", "/v1/jobs?page_size=100")

    def log(self, http: httpx.Client, job: str) -> str:
        return http.get(f"/v1/jobs/{job}/log").raise_for_status().text

    def multiply(self, job: str, count: int) -> None:
        database = Database(self._database_url)
        try:
            with database.read() as transaction:
                query = select(tables.jobs).where(tables.jobs.c.id == job)
                original = transaction.connection.execute(query).one()._asdict()
                rows = {
                    table: [
                        row._asdict()
                        for row in transaction.connection.execute(
                            select(table).where(table.c.job_pk == original["pk"])
                        )
                    ]
                    for table in OF_A_JOB
                }
            for begin in range(0, count, ROWS_AT_ONCE):
                few = min(ROWS_AT_ONCE, count - begin)
                with database.write() as transaction:
                    _copy(transaction.connection, original, rows, few)
                    _go_on_numbering(transaction.connection)
        finally:
            database.close()

    def keep_file(self, path: Path) -> Call:
        """Uploads a file of ours as a job's artifact; returns the request for it."""
        with self._attempting() as attempt:
            with self._uploading(path, attempt) as send:
                send()
            job = attempt.claim["job_id"]
        with self.http() as user:
            (artifact,) = user.get(f"/v1/jobs/{job}/artifacts").json()["artifacts"]
        return Call("GET", f"/v1/jobs/{job}/artifacts/{artifact['id']}/content")

    @contextlib.contextmanager
    def uploading(self, path: Path) -> Iterator[Callable[[], None]]:
        """What sends a file of a job that runs, as an agent does: the service checks, hashes and
        syncs it."""
        with self._attempting() as attempt, self._uploading(path, attempt) as send:
            yield send

    @contextlib.contextmanager
    def _attempting(self) -> Iterator[Attempt]:
        """An attempt at a new job, which ends with the context."""
        with self.http() as user:
            job = self.submit(user, Order())
        with self.worker() as worker:
            attempt = self.claim(worker, job)
            for name in PHASES:
                attempt.say(phase(name))
            yield attempt
            attempt.finish("out_of_memory")

    @contextlib.contextmanager
    def _uploading(self, path: Path, attempt: Attempt) -> Iterator[Callable[[], None]]:
        api = ServiceAPI(self.url, (self.home / "worker-token").read_text())
        seconds = attempt.claim["lease_seconds"]
        lease = AttemptLease(attempt.claim["attempt_id"], attempt.fence, seconds, time.monotonic())
        with contextlib.closing(api), path.open("rb") as file:
            yield lambda: api.upload(
                lease,
                Outgoing(file, path.stat().st_size),
                name="weights.npz",
                role="weights",
                media_type="application/octet-stream",
            )


def _copy(
    connection: Any, original: dict[str, Any], rows: dict[Table, list[dict[str, Any]]], count: int
) -> None:
    """Copies of one job with what belongs to it; names that must be unique are drawn anew."""
    first = _next(connection, tables.jobs)
    jobs = [{**original, "pk": first + n, "id": _id_like(original["id"])} for n in range(count)]
    connection.execute(insert(tables.jobs), jobs)
    attempt_pks: dict[tuple[int, int], int] = {}
    for table, its_rows in rows.items():
        if not its_rows:
            continue
        copies = []
        pk = _next(connection, table) if "pk" in table.c else 0
        for job in jobs:
            for row in its_rows:
                copy = {**row, "job_pk": job["pk"]}
                if "pk" in table.c:
                    copy.update(pk=pk, id=_id_like(row["id"]))
                    pk += 1
                if table is tables.attempts:
                    attempt_pks[job["pk"], row["pk"]] = copy["pk"]
                if "attempt_pk" in table.c:
                    copy["attempt_pk"] = attempt_pks[job["pk"], row["attempt_pk"]]
                copies.append(copy)
        connection.execute(insert(table), copies)


def _go_on_numbering(connection: Any) -> None:
    """PostgreSQL does not notice numbers that were not of its own giving."""
    if connection.dialect.name != "postgresql":
        return
    for table in (tables.jobs, tables.attempts, tables.artifacts):
        sequence = func.pg_get_serial_sequence(table.name, "pk")
        connection.execute(select(func.setval(sequence, _next(connection, table), False)))


def _next(connection: Any, table: Table) -> int:
    newest = connection.execute(select(table.c.pk).order_by(table.c.pk.desc()).limit(1)).scalar()
    return (newest or 0) + 1


def _id_like(example: str) -> str:
    """Another id of the same form: a kind, and random hexadecimal digits."""
    kind, _, digits = example.rpartition("_")
    return f"{kind}_{secrets.token_hex(len(digits) // 2)}"
