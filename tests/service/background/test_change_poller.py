"""Commits of another replica wake the waiters of this one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ipulse.spec import parse_spec
from ipulse_service.background.change_poller import ChangePoller
from ipulse_service.db import migrations
from ipulse_service.db import tokens as issued
from ipulse_service.db.engine import Database
from ipulse_service.jobs import attempts, store, submission
from ipulse_service.jobs.change_notifier import JobNotifier
from tests.service.running import SPEC

WANTED = submission.Submission(submission.resolve(parse_spec(SPEC)))


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Database]:
    database = Database(f"sqlite:///{tmp_path / 'ipulse.db'}")
    migrations.upgrade(database)
    yield database
    database.close()


@pytest.fixture
def elsewhere(here: Database) -> Iterator[Database]:
    """Another replica; its commits are not announced here."""
    database = Database(here.url.render_as_string())
    yield database
    database.close()


def submit(database: Database) -> str:
    return submission.submit(database, WANTED, "user", None).job.id


def wakes(database: Database, topics: list[str], act: Callable[[], object]) -> list[bool]:
    """Which of the watches on some topics a look wakes that comes after `act`."""

    async def look() -> list[bool]:
        changes = JobNotifier()
        poller = ChangePoller(database, changes, seconds=3600.0)
        with changes.watch(topics[0]) as first, changes.watch(topics[1]) as second:
            poller.poll()  # at jobs that it has not seen yet
            await asyncio.sleep(0)
            for watch in (first, second):
                watch.clear()
            act()
            poller.poll()
            await asyncio.sleep(0)
            return [watch.is_woken for watch in (first, second)]

    return asyncio.run(look())


def test_only_waiters_of_the_changed_job(here: Database, elsewhere: Database) -> None:
    changed, unchanged = submit(here), submit(here)

    def cancel() -> None:
        with elsewhere.write() as transaction:
            attempts.cancel(transaction, store.get(transaction, changed))

    assert wakes(here, [changed, unchanged], cancel) == [True, False]
    assert wakes(here, [unchanged, store.stop_topic(changed)], lambda: None) == [False, False]


def test_every_waiter_for_a_state(here: Database, elsewhere: Database) -> None:
    job = submit(here)

    def cancel() -> None:
        with elsewhere.write() as transaction:
            attempts.cancel(transaction, store.get(transaction, job))

    assert wakes(here, [job, store.stop_topic(job)], cancel) == [True, True]


def test_all_streams_when_a_token_was_revoked(here: Database, elsewhere: Database) -> None:
    jobs = [submit(here), submit(here)]
    with here.write() as transaction:
        token, _ = issued.issue(transaction, "dashboard", "reader", 3600)

    def revoke() -> None:
        with elsewhere.write() as transaction:
            issued.revoke(transaction, token.id)

    assert wakes(here, jobs, revoke) == [True, True]
