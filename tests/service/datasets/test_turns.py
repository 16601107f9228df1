"""Checks of data sets take turns by token."""

from __future__ import annotations

import secrets
from pathlib import Path

from ipulse_service.datasets import check_turns, versions
from ipulse_service.datasets.facts import DatasetCheck
from ipulse_service.db import migrations
from ipulse_service.db.engine import Database


def test_many_data_sets_of_one_token_delay_no_other(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'ipulse.db'}")
    migrations.upgrade(database)

    def add(token: str, number: int) -> None:
        with database.write() as transaction:
            name = f"{token}{number}"
            versions.add(transaction, name, secrets.token_hex(32), 1, token)

    def claim() -> versions.VersionRow | None:
        with database.write() as transaction:
            return check_turns.claim(transaction)

    def finish(version: versions.VersionRow) -> None:
        with database.write() as transaction:
            versions.finish_check(transaction, version, DatasetCheck(refusal="no"))

    for number in range(3):
        add("a", number)
    first = claim()
    assert first is not None
    assert first.name == "a0"
    assert claim() is None, "one of each token at a time"
    add("b", 0)
    second = claim()
    assert second is not None
    assert second.name == "b0"
    finish(first)
    add("c", 0)
    third = claim()
    assert third is not None
    assert third.name == "c0", "the one that waited for no check yet"
    finish(second)
    fourth = claim()
    assert fourth is not None
    assert fourth.name == "a1"
    database.close()
