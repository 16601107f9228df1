"""The commands of quotas and of used device time."""

from __future__ import annotations

from tests.ipulse.cli.conftest import Run

# Other tests use the same service: a quota on `default` or `owner` would stop their jobs.


def test_quotas_are_set_shown_and_removed(run: Run) -> None:
    assert run("project", "create", "limited").code == 0
    change = ("--set", "devices=4", "--set", "queued_jobs=200")
    shown = run("project", "quota", "limited", *change, "--json").json["quotas"]
    assert {each["name"]: each["limit"] for each in shown} == {"devices": 4, "queued_jobs": 200}
    table = run("project", "quota", "limited").out
    assert "queued_jobs" in table
    assert "200" in table
    run("project", "quota", "limited", "--set", "devices=none", "--set", "queued_jobs=none")
    assert run("project", "quota", "limited", "--json").json == {"quotas": []}


def test_quotas_of_a_person(run: Run) -> None:
    assert run("user", "add", "quinn").code == 0
    own = run("user", "quota", "quinn", "--set", "device_seconds=9", "--json").json["quotas"]
    assert [(each["user"], each["limit"], each["used"]) for each in own] == [("quinn", 9, 0)]
    run("user", "quota", "quinn", "--set", "device_seconds=none")
    assert run("user", "quota", "quinn", "--json").json == {"quotas": []}


def test_what_is_wrong_is_said(run: Run) -> None:
    for text in ("width=3", "devices=many", "devices"):
        assert run("project", "quota", "default", "--set", text).code == 2
    assert run("project", "quota", "nowhere").code == 3
    assert run("usage", "--by", "colour").code == 2


def test_usage_as_csv_has_a_header(run: Run) -> None:
    assert run("usage", "--csv").out.splitlines()[0] == (
        "project,user,device,month,device_hours,failed_hours,lost_hours,attempts"
    )


def test_months_without_jobs_have_no_usage(run: Run) -> None:
    ran = run("usage", "--by", "user", "--last", "2000-01", "--json")
    assert ran.json == {"usage": []}
