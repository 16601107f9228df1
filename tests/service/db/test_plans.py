"""How the databases find what they are asked for: by an index, also without any statistics."""

from __future__ import annotations

import re
from typing import Any

import pytest
from sqlalchemy import event

from ipulse_core.states import JobState
from ipulse_service.db.engine import Transaction
from ipulse_service.jobs import dependencies, leases, outbox, store
from ipulse_service.jobs.queue import fair_share, order
from ipulse_service.jobs.queue.waiting import QueueView
from ipulse_service.jobs.search import listing
from ipulse_service.jobs.search.filters import JobFilter
from tests.service.running import InProcess

pytestmark = pytest.mark.postgresql

_WHOLE_TABLE = re.compile(r"^SCAN (jobs|attempts|events|artifacts|outbox)$", re.M)

READ_WHOLE = ("agents", "quotas", "fair_usage")  # small tables: a row for each agent or person

BY_STATE = JobFilter(states=(JobState.SUCCEEDED,))
BY_BOTH = JobFilter(states=(JobState.SUCCEEDED,), devices=("cpu",))


def plans(transaction: Transaction, statements: list[tuple[str, Any]]) -> list[str]:
    """The database's plan of each statement."""
    words = "EXPLAIN QUERY PLAN" if transaction.connection.dialect.name == "sqlite" else "EXPLAIN"
    return [
        "\n".join(
            str(row[-1])
            for row in transaction.connection.exec_driver_sql(f"{words} {text}", parameters)
        )
        for text, parameters in statements
    ]


def test_nothing_that_is_asked_often_reads_a_whole_table(service: InProcess) -> None:
    job_id = service.submit()["id"]
    service.attempt(job_id).complete()
    waits = service.submit()["id"]
    statements: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, text: str, parameters: Any, *_: Any) -> None:
        if not text.startswith("SET "):  # has no plan
            statements.append((text, parameters))

    with service.database.write() as transaction:
        job, queued = store.get(transaction, job_id), store.get(transaction, waits)
        event.listen(transaction.connection, "before_cursor_execute", note)
        try:
            store.get(transaction, job_id)
            leases.of_job(transaction, job.pk)
            leases.of_jobs(transaction, [job.pk, queued.pk])
            QueueView(5.0).waiting(transaction, [queued])
            dependencies.waiting_for(transaction, [queued])
            standing = fair_share.read(transaction)
            order.head(transaction, ["cpu"], lambda needs: True, standing)
            outbox.queued(transaction, transaction.now)
            for look in (order.due, order.overdue, leases.expired, leases.next_expiry):
                look(transaction)
            order.next_deadline(transaction)
            begin_of_lists = len(statements)
            for filters in (JobFilter(), BY_STATE, BY_BOTH):
                for before in (None, queued.pk):
                    listing.page(transaction, before, 100, filters)
        finally:
            event.remove(transaction.connection, "before_cursor_execute", note)
        details = plans(transaction, statements)
    for number, (plan, (text, _)) in enumerate(zip(details, statements, strict=True)):
        if any(table in text for table in READ_WHOLE):
            continue
        assert "Seq Scan" not in plan, text
        if number >= begin_of_lists:  # so that no more is read than a page
            assert "TEMP B-TREE" not in plan, (text, plan)
        else:
            assert not _WHOLE_TABLE.search(plan), (text, plan)


def test_small_jobs_of_an_owner_are_found_in_an_index_alone(service: InProcess) -> None:
    statements: list[tuple[str, Any]] = []
    account = {"of_kind": "emulator", "of_pool": "default", "of_project": "a", "of_owner": "b"}
    with service.database.write() as transaction, transaction.without_sorting():
        connection = transaction.connection

        def note(_connection: Any, _cursor: Any, text: str, parameters: Any, *_: Any) -> None:
            statements.append((text, parameters))

        event.listen(connection, "before_cursor_execute", note)
        connection.execute(order.SMALL_OF_ACCOUNT, {**account, "depth": 100, "most_ipus": 1})
        event.remove(connection, "before_cursor_execute", note)
        (plan,) = plans(transaction, [statements[-1]])
    assert re.search(r"COVERING INDEX ix_jobs_turns|Index Only Scan using ix_jobs_turns", plan)
