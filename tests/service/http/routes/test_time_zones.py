"""Dates without a zone are in the zone that the request names, UTC by default."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from zoneinfo import ZoneInfo

from ipulse_service.jobs.search.terms import QueryText
from ipulse_service.jobs.search.values import time_span, zone_of
from tests.service.running import SPEC, InProcess

HOUR = 3_600_000


@pytest.fixture(scope="module")
def job(service: InProcess) -> dict[str, str]:
    """A job that no other test sees, with the time of its submission."""
    made: dict[str, str] = service.submit({**SPEC, "name": "zoned", "metadata": {"team": "zoned"}})
    return made


@pytest.mark.parametrize("zone", ["UTC", "+05:30", "-12:00", "+14:00", "Asia/Kolkata"])
def test_a_date_is_that_of_the_zone(service: InProcess, job: dict[str, str], zone: str) -> None:
    created = datetime.fromisoformat(job["created_at"])
    date = created.astimezone(zone_of(zone)).date()
    for query, found in (
        (f"created:{date}", True),
        (f"created<{date}", False),
        (f"created<={date}", True),
        (f"created>{date - timedelta(days=1)}", True),
        (f"created>{date}", False),
    ):
        asked = {"q": f"{query} label.team:zoned", "time_zone": zone}
        answer = service.user.get("/v1/jobs", params=asked).json()
        assert [each["id"] for each in answer["jobs"]] == [job["id"]] * found, query
        counted = service.user.post("/v1/jobs:delete", params={**asked, "dry_run": "true"}).json()
        assert counted["matched"] == found
        compared = service.user.post("/v1/jobs:compare", json=asked).json()
        assert compared["total"] == found


def test_the_zone_of_a_request_changes_only_times_without_one(
    service: InProcess, job: dict[str, str]
) -> None:
    """The earliest and the latest zone never have the same date."""
    created = datetime.fromisoformat(job["created_at"])
    late = created.astimezone(timezone(timedelta(hours=14)))
    for query, found in ((f"created:{late.date()}", False), (f'created<"{late}"', False)):
        asked = {"q": f"{query} label.team:zoned", "time_zone": "-12:00"}
        answer = service.user.get("/v1/jobs", params=asked).json()
        assert len(answer["jobs"]) == found


@pytest.mark.parametrize("zone", ["Nowhere/Town", "5:30", "../etc/passwd", "+25:00", "", "x" * 65])
def test_an_unknown_zone_is_refused(service: InProcess, zone: str) -> None:
    answer = service.user.get("/v1/jobs", params={"time_zone": zone})
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["pointer"] == "/query/time_zone"
    assert (
        service.user.post("/v1/jobs:compare", json={"q": "", "time_zone": zone}).status_code == 422
    )


@pytest.mark.parametrize(
    ("date", "hours"), [("2026-03-29", 23), ("2026-10-25", 25), ("2026-06-01", 24)]
)
def test_a_day_has_the_hours_that_its_zone_gives_it(date: str, hours: int) -> None:
    zone = ZoneInfo("Europe/Berlin")
    span = time_span(QueryText(date, 0, len(date)), "created", zone)
    assert span.end - span.begin == hours * HOUR
    assert datetime.fromtimestamp(span.begin / 1000, zone).isoformat()[:19] == f"{date}T00:00:00"
