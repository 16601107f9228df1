"""The audit log: who did what, in the transaction of the change, in a chain of digests."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import pytest
from sqlalchemy import delete, update

from ipulse.audit_chain import BrokenChain, check
from ipulse_service.db import tables
from ipulse_service.db.access import Access
from tests.service.people import checked, issued, person, submitted
from tests.service.running import SPEC, InProcess

pytestmark = pytest.mark.postgresql


def entries(service: InProcess, **query: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    after = 0
    while True:
        page = checked(service.user.get("/v1/audit", params={**query, "after": after, "limit": 50}))
        found += page["entries"]
        after = page["next_after"]
        if page["end"]:
            return found


@pytest.fixture(scope="module")
def alice(service: InProcess) -> Iterator[httpx.Client]:
    with ExitStack() as stack:
        yield person(service, stack, "alice", default="member")


def test_n2_each_change_of_a_job_has_one_entry(service: InProcess, alice: httpx.Client) -> None:
    headers = {"idempotency-key": "audited"}
    job = checked(alice.post("/v1/jobs", json=SPEC, headers=headers))
    checked(alice.post("/v1/jobs", json=SPEC, headers=headers))  # a repetition changes nothing
    path = f"/v1/jobs/{job['id']}"
    checked(alice.patch(path, json={"priority": 7, "tags": ["mine"]}))
    checked(alice.post(f"{path}/pause"))
    checked(alice.post(f"{path}/resume"))
    checked(alice.post(f"{path}/cancel"))
    checked(alice.post(f"{path}/cancel"))  # it has ended
    checked(alice.delete(path))
    found = entries(service, target=job["id"])
    actions = ["submit", "priority", "edit", "pause", "resume", "cancel", "delete"]
    assert [each["action"] for each in found] == [f"job.{action}" for action in actions]
    assert {(each["actor"], each["project"], each["outcome"]) for each in found} == {
        ("alice", "default", "ok")
    }
    assert found[1]["detail"] == "0 to 7"
    token = checked(alice.get("/v1/tokens"))["tokens"][0]["id"]
    assert {each["token_id"] for each in found} == {token}


def test_a_batch_and_people_and_tokens_are_in_it(service: InProcess, alice: httpx.Client) -> None:
    jobs = [submitted(alice, name="batched") for _ in range(3)]
    checked(alice.post("/v1/jobs:cancel", params={"q": "name:batched"}))
    cancelled = entries(service, action="job.cancel", actor="alice")
    assert {job["id"] for job in jobs} <= {each["target"] for each in cancelled}
    with ExitStack() as stack:
        client = issued(service, stack, role="reader")
        secret = client.headers["authorization"].rpartition("_")[2]
    checked(service.user.post("/v1/projects", json={"name": "audited"}))
    checked(service.user.put("/v1/projects/audited/members/alice", json={"role": "viewer"}))
    found = entries(service, actor="owner")
    done = {(each["action"], each["target"], each["detail"]) for each in found}
    assert ("project.create", "audited", "") in done
    assert ("member.set", "alice", "viewer") in done
    assert any(action == "token.create" for action, _, _ in done)
    assert secret not in str(found)


def test_what_is_refused_is_in_it_once_a_second(service: InProcess, alice: httpx.Client) -> None:
    job = submitted(service.user)
    for _ in range(5):
        assert alice.delete(f"/v1/jobs/{job['id']}").status_code == 403
    denied = entries(service, actor="alice", action="request.denied")
    assert 1 <= len(denied) <= 3
    assert denied[0]["target"] == f"DELETE /v1/jobs/{job['id']}"
    assert denied[0]["outcome"] == "denied"
    assert alice.get("/v1/audit").status_code == 403


def test_what_is_undone_leaves_no_entry(service: InProcess) -> None:
    number = len(entries(service))
    database = service.database.acting_for(Access("alice"))

    def fail() -> None:
        with database.write() as transaction:
            transaction.audit("job.cancel", "job_x")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert len(entries(service)) == number


def test_n3_the_chain_holds_while_many_write(service: InProcess, alice: httpx.Client) -> None:
    headers = dict(alice.headers)

    def submit() -> None:
        with service.client() as client:
            client.headers.update(headers)
            for _ in range(5):
                checked(client.post("/v1/jobs", json=SPEC))

    writers = [threading.Thread(target=submit) for _ in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    found = entries(service)
    number, last = check(found)
    assert (number, last) == (len(found), found[-1]["sha256"])


@pytest.mark.parametrize("change", ["edited", "removed"])
def test_a_change_or_removal_is_noticed(
    service: InProcess, alice: httpx.Client, change: str
) -> None:
    for _ in range(3):
        submitted(alice)
    kept = entries(service)
    check(kept)
    wrong = kept[-2]["number"]
    of_entry = tables.audit.c.number == wrong
    with service.database.write() as transaction:
        if change == "edited":
            transaction.connection.execute(update(tables.audit).where(of_entry).values(actor="bob"))
        else:
            transaction.connection.execute(delete(tables.audit).where(of_entry))
    with pytest.raises(BrokenChain) as broken:
        check(entries(service))
    assert broken.value.number == wrong
    with service.database.write() as transaction:  # for the other tests
        transaction.connection.execute(delete(tables.audit).where(tables.audit.c.number >= wrong))
