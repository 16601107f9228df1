"""Metrics for Prometheus, and readiness, on both databases."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families
from redis import Redis
from sqlalchemy import Connection, event

from ipulse.stack.redis_server import RedisServer
from tests.service.conditions import eventually
from tests.service.running import InProcess, settings_for


def samples(service: InProcess) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    response = service.user.get("/metrics")
    assert response.status_code == 200
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(response.text)
        for sample in family.samples
    }


def test_requests_are_counted_by_route_and_not_by_path(service: InProcess) -> None:
    for number in range(5):
        service.user.get(f"/v1/jobs/job_{number}")
        service.user.get(f"/nowhere/{number}")
    service.user.request("BREW", "/v1/jobs")
    service.user.get(
        "/v1/jobs/a/artifacts/a/content"
    )  # equal parameters, and one named like a part
    service.user.get("/v1/jobs/jobs/events")

    def by_route() -> dict[tuple[str, str, str], float]:
        return {
            (labels["route"], labels["method"], labels["status"]): value
            for (name, pairs), value in samples(service).items()
            if name == "ipulse_http_requests_total" and (labels := dict(pairs))
        }

    # A request is counted behind its answer.
    eventually(lambda: ("/v1/jobs/{job_id}/events", "GET", "404") in by_route())
    counted = by_route()
    assert counted["/v1/jobs/{job_id}", "GET", "404"] == 5
    assert counted["none", "GET", "404"] == 5
    assert counted["/v1/jobs/{job_id}/artifacts/{artifact_id}/content", "GET", "404"] == 1
    assert counted["/v1/jobs/{job_id}/events", "GET", "404"] == 1
    assert not [route for route, _, _ in counted if "job_" in route.replace("{job_id}", "")]
    assert "BREW" not in {method for _, method, _ in counted}


def test_jobs_are_counted_by_state(service: InProcess) -> None:
    before = samples(service)
    service.submit()
    service.attempt(service.submit()["id"])
    after = samples(service)
    for state in ("queued", "preparing"):
        key = ("ipulse_jobs", frozenset({("state", state)}))
        assert after[key] == before[key] + 1
    registration = {"agent": "a", "device_kinds": ["cpu"]}
    service.worker.post("/v1/worker/agents", json=registration)
    assert samples(service)["ipulse_agents", frozenset()] == 1


def test_a_database_that_cannot_be_written_is_not_ready(
    redis_server: RedisServer, home: Path
) -> None:
    with InProcess(settings_for(home, redis_server.url, rescan_seconds=0.1)) as service:
        eventually(lambda: service.user.get("/readyz").status_code == 200)
        engine = service.database.backend.reading
        orders = {on: partial(_order, f"PRAGMA query_only = {on}") for on in ("ON", "OFF")}
        event.listen(engine, "begin", orders["ON"])
        eventually(lambda: service.user.get("/readyz").status_code == 503)
        assert service.user.get("/readyz").json()["detail"] == "not available now: database"
        event.remove(engine, "begin", orders["ON"])
        event.listen(engine, "begin", orders["OFF"])
        eventually(lambda: service.user.get("/readyz").status_code == 200)


def _order(text: str, connection: Connection) -> None:
    connection.exec_driver_sql(text)


def test_a_broker_that_answers_and_takes_nothing_is_not_ready(
    redis_server: RedisServer, broker: Redis, home: Path
) -> None:
    settings = settings_for(home, redis_server.url, rescan_seconds=0.1)
    with InProcess(settings) as service:
        eventually(lambda: service.user.get("/readyz").status_code == 200)
        broker.config_set("maxmemory", "1")  # it answers still, and refuses to store
        try:
            eventually(lambda: service.user.get("/readyz").status_code == 503)
            assert service.user.get("/readyz").json()["detail"] == "not available now: broker"
        finally:
            broker.config_set("maxmemory", "0")
        eventually(lambda: service.user.get("/readyz").status_code == 200)
    assert list(broker.scan_iter("*canary*")) == []
