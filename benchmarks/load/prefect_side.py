"""Prefect: its server on SQLite, and a worker that starts a process for each run of a flow."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import httpx

from benchmarks.load.payload import Order
from benchmarks.load.programs import ROOT
from benchmarks.load.shim_side import JSON
from benchmarks.load.side import Call, Side, free_port

STATES = {
    "COMPLETED": "succeeded",
    "FAILED": "failed",
    "CRASHED": "failed",
    "CANCELLED": "cancelled",
}
POOL = FLOW = "load"
LOG_PAGE = 200  # the most that it gives out
REFUSALS = 100  # of one request, each a tenth of a second before the next


class PrefectSide(Side):
    """Its defaults: the worker asks for runs every ten seconds."""

    name = "Prefect"
    promise = (
        "a run's row survives kill -9; SQLite in WAL mode without an fsync a commit, so the last "
        "ones may go with the power; a worker's run that is killed with it is not run again; no "
        "key is sent, no authentication"
    )
    health = "/api/health"
    front, back = "server", "worker"

    def __init__(self, home: Path, python: Path) -> None:
        super().__init__(home)
        self._python = python

    def http(self) -> httpx.Client:
        return httpx.Client(base_url=self.url, transport=_Patient(), timeout=60.0)

    def start(self) -> None:
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self._environment = {
            **self.own_folders(),
            "PREFECT_HOME": str(self.home),
            "PREFECT_API_URL": f"{self.url}/api",
            "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
            "DO_NOT_TRACK": "1",
            "PYTHONPATH": str(ROOT),  # a run's process begins in a folder of its own
        }
        command = ["prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port)]
        self.run(self.front, command, self._environment, self._python)
        self.await_health()
        with self.http() as http:
            self._deployment = self._deploy(http)

    def _deploy(self, http: httpx.Client) -> str:
        """Makes the flow known; returns its deployment's id."""

        def made(kind: str, **fields: Any) -> str:
            return self.id_of(http.post(f"/api/{kind}/", json=fields).raise_for_status().json())

        made("work_pools", name=POOL, type="process")
        return made(
            "deployments",
            name=FLOW,
            flow_id=made("flows", name=FLOW),
            work_pool_name=POOL,
            entrypoint="benchmarks/load/prefect_flow.py:run",
            pull_steps=[
                {"prefect.deployments.steps.set_working_directory": {"directory": str(ROOT)}}
            ],
        )

    def start_worker(self) -> None:
        """For one job at a time, as an agent of IPUlse's: else it starts as many as there are."""
        options = ["--pool", POOL, "--type", "process", "--limit", "1"]
        command = ["prefect", "worker", "start", *options]
        self.run(self.back, command, self._environment, self._python)

    def submission(self, order: Order = Order()) -> Call:  # noqa: B008 - it is frozen
        body = {"parameters": {"order": order.to_json()}}
        path = f"/api/deployments/{self._deployment}/create_flow_run"
        return Call("POST", path, json.dumps(body).encode(), JSON)

    def state_of(self, answer: Any) -> str:
        return STATES.get(answer["state_type"], "running")

    def status(self, job: str) -> Call:
        return Call("GET", f"/api/flow_runs/{job}")

    def newest(self) -> Call:
        body = {"limit": 100, "sort": "EXPECTED_START_TIME_DESC"}
        return Call("POST", "/api/flow_runs/filter", json.dumps(body).encode(), JSON)

    def log(self, http: httpx.Client, job: str) -> str:
        lines: list[str] = []
        while True:
            asked = {
                "logs": {"flow_run_id": {"any_": [job]}},
                "sort": "TIMESTAMP_ASC",
                "limit": LOG_PAGE,
                "offset": len(lines),
            }
            page = http.post("/api/logs/filter", json=asked).raise_for_status().json()
            lines += (line["message"] for line in page)
            if len(page) < LOG_PAGE:
                return "\n".join(lines)


class _Patient(httpx.HTTPTransport):
    """Asks again after a 503, as Prefect's own client does: now and then its SQLite is locked."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        for _ in range(REFUSALS):
            response = super().handle_request(request)
            if response.status_code != httpx.codes.SERVICE_UNAVAILABLE:
                break
            response.close()
            time.sleep(0.1)
        return response
