"""The route that imports a job: uploads that are not complete, unknown, or no archives."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from sqlalchemy import func, select

from ipulse_core import ids
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import HIDDEN, job_metrics, jobs
from ipulse_service.jobs import deletion, events
from ipulse_service.jobs.importing import rows
from ipulse_service.reading.limits import MAX_METRICS
from tests.service.datasets.uploading import announce, check_refused, send, upload
from tests.service.large_documents import archive
from tests.service.measures import Transactions
from tests.service.running import InProcess, Service


@pytest.fixture
def transactions(service: InProcess) -> Iterator[Transactions]:
    with Transactions(service.database.backend.reading).watching() as measured:
        yield measured


def test_an_upload_must_be_complete_and_an_archive(service: Service) -> None:
    content = b"no archive"
    begun = announce(service, content, purpose="archive").json()
    body = {"upload_id": begun["id"]}
    check_refused(service.user.post("/v1/jobs:import", json=body), 409, "upload_incomplete")
    assert send(service, begun["id"], content).status_code == 204
    check_refused(service.user.post("/v1/jobs:import", json=body), 422, "invalid_input")
    check_refused(
        service.user.post("/v1/jobs:import", json={"upload_id": "upl_" + "0" * 24}),
        404,
        "not_found",
    )


def test_a_file_of_another_purpose_is_no_archive(service: Service) -> None:
    body = {"upload_id": upload(service, b"weights, perhaps")}
    check_refused(service.user.post("/v1/jobs:import", json=body), 422, "invalid_input")


def import_archive(service: Service, content: bytes) -> httpx.Response:
    begun = announce(service, content, purpose="archive").json()
    if not begun["complete"]:
        assert send(service, begun["id"], content).status_code == 204
    return service.user.post("/v1/jobs:import", json={"upload_id": begun["id"]})


def hidden(service: InProcess) -> int:
    """How many rows of jobs there are that nobody sees."""
    with service.database.read() as transaction:
        query = select(func.count()).where(jobs.c.state.in_(HIDDEN))
        return int(transaction.connection.execute(query).scalar_one())


def test_others_write_while_a_long_job_is_imported(
    service: InProcess, transactions: Transactions
) -> None:
    answer = import_archive(service, archive(20_000))
    assert answer.status_code == 201, answer.text
    assert len(service.events(answer.json()["id"], limit=1000)["events"]) == 1000
    assert transactions.longest < 0.5
    assert service.user.delete(answer.headers["location"]).status_code == 204
    assert transactions.longest < 0.5
    assert hidden(service) == 0


def test_names_of_metrics_do_not_fill_the_index(service: InProcess) -> None:
    """Each search reads all names."""
    answer = import_archive(service, archive(100, values=50))
    assert answer.status_code == 201, answer.text
    with service.database.read() as transaction:
        query = select(func.count()).where(job_metrics.c.name_id.is_not(None))
        assert transaction.connection.execute(query).scalar_one() <= MAX_METRICS


def test_an_import_that_ends_with_its_service_shows_nothing(
    service: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {job["id"] for job in service.user.get("/v1/jobs").json()["jobs"]}
    job_id = ids.new_id(ids.JOB)
    content = archive(5_000, job_id)
    stored, insert_rows = 0, events.insert_rows

    def insert(transaction: Transaction, rows: list[dict[str, Any]], are_new: bool) -> None:
        nonlocal stored
        if stored > 3_000:
            raise RuntimeError("the service ends here")
        stored += len(rows)
        insert_rows(transaction, rows, are_new)

    with monkeypatch.context() as patch:
        patch.setattr(deletion, "try_purge", lambda *_: None)  # it is killed
        patch.setattr(rows.events, "insert_rows", insert)
        assert import_archive(service, content).status_code == 500
    assert stored
    assert hidden(service) == 1
    check_refused(service.user.get(f"/v1/jobs/{job_id}"), 404, "not_found")
    listed = service.user.get("/v1/jobs").json()["jobs"]
    assert {job["id"] for job in listed} == before
    found = service.user.post("/v1/jobs:delete", params={"dry_run": True}).json()
    assert found["matched"] == len(before)
    # It can be repeated at once, and what is left is deleted later.
    assert import_archive(service, content).status_code == 201
    monkeypatch.setattr(deletion, "ABANDONED_MS", -1)
    deletion.purge(service.database)
    assert hidden(service) == 0
    assert service.job(job_id)["name"] == "large"
    assert len(service.events(job_id, limit=1000)["events"]) == 1000


def test_of_two_imports_at_once_one_adds_the_job(service: InProcess) -> None:
    content = archive(3_000)
    begun = announce(service, content, purpose="archive").json()
    assert send(service, begun["id"], content).status_code == 204
    with ThreadPoolExecutor(2) as pool:
        calls = [
            pool.submit(service.user.post, "/v1/jobs:import", json={"upload_id": begun["id"]})
            for _ in range(2)
        ]
        statuses = sorted(call.result().status_code for call in calls)
    assert statuses == [200, 201]
    assert hidden(service) == 0


def test_a_page_of_large_events_is_shorter(service: InProcess) -> None:
    answer = import_archive(service, archive(900, text="y" * 16_000))
    job_id, after, seen = answer.json()["id"], 0, 0
    pages = []
    while not (page := service.events(job_id, limit=1000, after=after))["end"]:
        seen, after = seen + len(page["events"]), page["next_after"]
        pages.append(len(page["events"]))
    assert seen + len(page["events"]) == 900
    assert max(pages) < 700
