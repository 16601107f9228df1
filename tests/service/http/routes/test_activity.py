"""The changes of all jobs: no gap, no repeat, and only what one may read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import httpx
import pytest
from sqlalchemy import text, update

from ipulse_service.db import tables
from ipulse_service.db.engine import Database
from ipulse_service.jobs import activity
from tests.service.conditions import eventually
from tests.service.http.routes.test_submission import check_problem
from tests.service.people import checked, person, submitted
from tests.service.running import InProcess

pytestmark = pytest.mark.postgresql


@pytest.fixture(scope="module")
def world(service: InProcess) -> Iterator[tuple[httpx.Client, httpx.Client]]:
    """Members of two projects."""
    with ExitStack() as stack:
        checked(service.user.post("/v1/projects", json={"name": "vision"}))
        yield (
            person(service, stack, "alice", default="member"),
            person(service, stack, "quinta", vision="member"),
        )


def page(client: httpx.Client, after: str, **query: Any) -> dict[str, Any]:
    return checked(client.get("/v1/events", params={"after": after, **query}))


def now(client: httpx.Client) -> str:
    return str(page(client, "now")["next_after"])


def settled(client: httpx.Client, after: str, count: int, **query: Any) -> dict[str, Any]:
    """So many events, as soon as no older transaction of the database is open."""

    def read() -> dict[str, Any] | None:
        found = page(client, after, **query)
        return found if len(found["events"]) >= count else None

    return eventually(read)


def states(found: dict[str, Any]) -> list[tuple[str, str]]:
    return [(event["job_id"], event["state"]) for event in found["events"]]


def test_each_reads_the_changes_of_its_own_projects(
    service: InProcess, world: tuple[httpx.Client, httpx.Client]
) -> None:
    alice, quinta = world
    start = now(alice)
    ours, theirs = submitted(alice), submitted(quinta)
    checked(alice.post(f"/v1/jobs/{ours['id']}/cancel"))
    found = settled(alice, start, 2)
    assert states(found) == [(ours["id"], "queued"), (ours["id"], "cancelled")]
    assert {(each["owner"], each["project"]) for each in found["events"]} == {("alice", "default")}
    assert theirs["id"] not in json.dumps(found)
    assert states(settled(quinta, start, 1)) == [(theirs["id"], "queued")]
    assert len(states(settled(service.user, start, 3))) == 3
    assert states(page(service.user, start, project="vision")) == [(theirs["id"], "queued")]
    assert page(alice, found["next_after"])["events"] == []


def test_pages_of_any_size_are_the_same_sequence(
    service: InProcess, world: tuple[httpx.Client, httpx.Client]
) -> None:
    alice, _ = world
    start = now(alice)
    expected = [(submitted(client)["id"], "queued") for client in world for _ in range(3)]
    settled(service.user, start, len(expected))
    cursor, found = start, []
    has_more = True
    while has_more:
        read = page(service.user, cursor, limit=2)
        found += states(read)
        cursor, has_more = read["next_after"], read["has_more"]
    assert found == expected
    middle = page(service.user, start, limit=2)["events"][0]["cursor"]
    assert states(page(service.user, middle)) == expected[1:]


def test_a_waiting_page_and_a_stream_get_a_change_at_once(
    service: InProcess, world: tuple[httpx.Client, httpx.Client]
) -> None:
    alice, _ = world
    start = now(alice)
    headers = {"prefer": "wait=30"}
    with ThreadPoolExecutor(1) as beside:
        waiting = beside.submit(alice.get, "/v1/events", params={"after": start}, headers=headers)
        job = submitted(alice)
        assert states(checked(waiting.result())) == [(job["id"], "queued")]
    headers = {"accept": "text/event-stream", "last-event-id": start}
    with alice.stream("GET", "/v1/events", headers=headers) as stream:
        lines = stream.iter_lines()
        data = next(line for line in lines if line.startswith("data:"))
        assert json.loads(data[5:])["job_id"] == job["id"]
        second = submitted(alice)
        data = next(line for line in lines if line.startswith("data:"))
        assert json.loads(data[5:])["job_id"] == second["id"]


def test_a_stream_ends_with_the_rights(
    service: InProcess, world: tuple[httpx.Client, httpx.Client]
) -> None:
    with ExitStack() as stack:
        carol = person(service, stack, "carol", default="viewer")
        headers = {"accept": "text/event-stream"}
        with carol.stream("GET", "/v1/events", params={"after": "now"}, headers=headers) as stream:
            lines = stream.iter_lines()
            assert next(lines).startswith("retry")
            path = "/v1/projects/default/members/carol"
            assert service.user.delete(path).status_code == 204
            assert not any(line.startswith("data") for line in lines)


def test_a_foreign_an_old_and_a_wrong_cursor_are_refused(service: InProcess) -> None:
    before = now(service.user)
    submitted(service.user)
    settled(service.user, before, 1)
    cursor = now(service.user)
    xid, pk, time = cursor.split(".")
    other = f"{xid}.{pk}.{int(time, 16) - 1:x}"
    ahead = f"{xid}.{int(pk, 16) + 9:x}.{time}"
    for after in (other, ahead):
        problem = check_problem(service.user.get("/v1/events", params={"after": after}), 409)
        assert problem["code"] == "other_history"
    check_problem(service.user.get("/v1/events", params={"after": "7"}), 422)
    with service.database.write() as transaction:
        old = transaction.now - activity.KEPT_MS - 1
        this = update(tables.activity).where(tables.activity.c.pk == int(pk, 16))
        transaction.connection.execute(this.values(time=old))
        activity.forget_old(transaction)
    idle = f"{xid}.{pk}.{old:x}"
    assert page(service.user, idle)["events"] == [], "nothing has happened since then"
    submitted(service.user)
    with service.database.write() as transaction:
        activity.forget_old(transaction)
    expired = service.user.get("/v1/events", params={"after": idle})
    assert check_problem(expired, 409)["code"] == "events_expired"


def test_n28_a_later_row_never_appears_below_a_cursor(service: InProcess) -> None:
    """Two replicas commit in another order than they began."""
    if service.database.url.get_backend_name() == "sqlite":
        pytest.skip("SQLite has one writer")
    start = now(service.user)
    replica = Database(service.settings.database_url)
    query = text("SELECT pg_current_xact_id()::text::bigint")
    with replica.write() as transaction:
        transaction.connection.execute(query)  # it has begun, and commits last
        late = submitted(service.user)
        assert states(page(service.user, start)) == [], "an older transaction may still add rows"
        row = {"job_pk": 1, "seq": 1, "time": transaction.now, "kind": activity.KIND}
        activity.add(transaction, [row])
    found = settled(service.user, start, 1)
    assert (late["id"], "queued") in states(found)
    assert page(service.user, found["next_after"])["events"] == []
    replica.close()
