"""Dates without a zone are the caller's, in filters and queries alike."""

from __future__ import annotations

import secrets
import time
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from ipulse.client import Connection, JobSelection
from tests.ipulse.cli.conftest import SPEC, Run


@pytest.mark.parametrize("zone", ["Asia/Kolkata", "Etc/GMT+12"])
def test_a_date_is_in_the_zone_of_the_caller_everywhere(
    run: Run, client: Connection, monkeypatch: pytest.MonkeyPatch, zone: str
) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    team = f"team={secrets.token_hex(8)}"
    job = client.submit({**SPEC, "metadata": {"team": team.partition("=")[2]}})
    today = job.created_at.astimezone(ZoneInfo(zone)).date()
    for date, found in ((today, 0), (today + timedelta(days=1), 1)):
        query = f"created<{date} label.{team.replace('=', ':')}"
        for filters in (["-q", query], ["--created-before", f"{date}", "--label", team]):
            counted = run("delete", *filters, "--dry-run", "--json")
            assert counted.json["matched"] == found, filters
        listed = run("list", query, "--json").json
        assert len(listed["jobs"]) == found
    offset = f"{job.created_at.astimezone(ZoneInfo(zone)):%z}"
    shown = "UTC" if offset == "+0000" else f"{offset[:3]}:{offset[3:]}"
    query = f"label.{team.replace('=', ':')}"
    for command in (("list", query, "--wide"), ("status", job.id)):
        assert shown in run(*command).out
    client.job(job.id).cancel()
    monkeypatch.undo()
    time.tzset()


def test_a_time_without_a_zone_is_local_in_python(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    midnight = datetime(2026, 1, 31)
    for zone, offset in (("Asia/Kolkata", "+05:30"), ("UTC", "+00:00")):
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        sent = JobSelection(created_before=midnight, query="created<2026-01-31").parameters()
        assert sent["created_before"] == f"2026-01-31T00:00:00{offset}"
        assert sent["time_zone"] == zone
        assert "time_zone" not in JobSelection(query="state:queued").parameters()
    monkeypatch.undo()
    time.tzset()
