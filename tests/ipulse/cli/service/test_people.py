"""user, project and audit: people, what they may do, and the log of what they did."""

from __future__ import annotations

import pytest

from ipulse.client import Connection
from tests.ipulse.cli.conftest import SPEC, Run
from tests.ipulse.live_service import LiveService


@pytest.fixture
def as_alice(service: LiveService, run: Run, offline: Run) -> Run:
    """Run a command with a token of a member of the project `default`."""
    if run("user", "add", "alice", "--project", "default").code:  # another test has added her
        assert run("project", "member", "default", "alice").code == 0
    made = run("token", "create", "laptop", "--user", "alice", "--json")
    address = {"IPULSE_URL": service.url, "IPULSE_TOKEN": made.json["token"]}
    return lambda *arguments: offline(*arguments, **address)


def test_a_person_is_added_with_the_role_that_is_shown(run: Run) -> None:
    added = run("user", "add", "bob", "--full-name", "Bob B.", "--project", "default", "--json")
    assert added.code == 0, added.err
    assert added.json["roles"] == {"default": "member"}
    assert added.json in run("user", "list", "--json").json["users"]
    members = run("project", "show", "default", "--json").json["members"]
    assert {member["name"]: member["role"] for member in members}["bob"] == "member"
    changed = run("user", "edit", "bob", "--disable", "--json").json
    assert changed == {**added.json, "is_disabled": True}


def test_nobody_is_added_if_the_project_does_not_exist(run: Run) -> None:
    assert run("user", "add", "carol", "--project", "nowhere").code == 3
    assert "carol" not in run("user", "list").out


def test_a_project_and_its_members(run: Run, as_alice: Run) -> None:
    assert run("project", "create", "vision", "--description", "Cameras").code == 0
    assert as_alice("project", "show", "vision").code == 3
    assert run("project", "member", "vision", "alice", "--role", "viewer").code == 0
    assert as_alice("user", "me", "--json").json["roles"]["vision"] == "viewer"
    assert as_alice("project", "edit", "vision", "--public").code == 4
    assert run("project", "edit", "vision", "--public", "--json").json["is_public"]
    both = run("project", "member", "vision", "alice", "--role", "owner", "--remove", "--yes")
    assert both.code == 2
    assert "either --role or --remove" in both.err
    removed = run("project", "member", "vision", "alice", "--remove", "--yes", "--json")
    assert removed.json == {"project": "vision", "user": "alice", "role": None}
    assert "alice" not in run("project", "show", "vision").out


def test_the_jobs_of_others_are_not_mine_and_not_mine_to_delete(
    client: Connection, as_alice: Run
) -> None:
    job = client.submit(SPEC)
    assert as_alice("status", job.id).code == 0
    assert as_alice("list", "--mine", "--json").json["jobs"] == []
    for options in ([], ["--yes"]):
        refused = as_alice("delete", job.id, *options)
        assert refused.code == 4
        assert "maintainer" in refused.err
        assert "cancel it" not in refused.err
    job.cancel()
    assert as_alice("delete", job.id, "--yes").code == 4
    assert job.refresh().id == job.id


def test_the_audit_log_is_whole_and_for_administrators(
    run: Run, as_alice: Run, client: Connection
) -> None:
    job = client.submit(SPEC)
    shown = run("audit", "list", "--target", job.id, "--json").json["entries"]
    assert [(entry["actor"], entry["action"]) for entry in shown] == [("owner", "job.submit")]
    whole = run("audit", "verify", "--json").json
    assert whole["whole"]
    assert whole["number"] >= shown[0]["number"]
    assert as_alice("audit", "list").code == 4
    job.cancel()
