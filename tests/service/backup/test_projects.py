"""A project moves to another service: nothing of it is lost, and nothing of the other changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from ipulse_core.errors import Conflict, InvalidInput, NotFound
from ipulse_service.backup import projects
from ipulse_service.backup.making import make, make_of_project
from ipulse_service.backup.restoring import restore
from ipulse_service.db import tables
from ipulse_service.settings import Settings
from tests.service.backup.conftest import Stored
from tests.service.conditions import eventually
from tests.service.people import checked
from tests.service.running import SPEC, InProcess
from tests.service.sweeps.sweeping import sweep_of

pytestmark = pytest.mark.postgresql


@pytest.fixture
def archive(stored: Stored, tmp_path: Path) -> Path:
    """The project of a home, in which all work is paused."""
    path = tmp_path / "default.tar"
    with InProcess(stored.settings) as service:
        with pytest.raises(Conflict, match="paused"):
            make_of_project(stored.settings, path, "default")
        checked(service.user.post(f"/v1/sweeps/{stored.sweep}/pause"))
        paused = service.user.post("/v1/jobs:pause", params={"all": "true"})
        assert paused.status_code == 200, paused.text
        checked(service.user.post("/v1/users", json={"name": "alice"}))
        role = {"role": "maintainer"}
        checked(service.user.put("/v1/projects/default/members/alice", json=role))
        with pytest.raises(NotFound, match="default"):
            make_of_project(stored.settings, path, "vision")
        made = make_of_project(stored.settings, path, "default")
    assert (made.keys, made.missing) == ((), ())
    return path


@pytest.fixture
def other(stored: Stored, tmp_path: Path, database_settings: dict[str, Any]) -> Settings:
    """The settings of another service, which has a job of its own."""
    home = tmp_path / "other"
    home.mkdir(mode=0o700)
    settings = stored.elsewhere(home, **database_settings)
    with InProcess(settings) as service:
        service.submit()
    return settings


def counts(service: InProcess) -> dict[str, int]:
    """How many rows each table has."""
    with service.database.read() as transaction:
        return {
            table.name: transaction.connection.execute(
                select(func.count()).select_from(table)
            ).scalar_one()
            for table in projects.TABLES
        }


def test_a_project_goes_on_in_another_service(
    stored: Stored, archive: Path, other: Settings
) -> None:
    with pytest.raises(Conflict, match="--project"):  # this one has such a project
        restore(other, archive)
    done = restore(other, archive, project="vision")
    assert done.added is not None
    assert (done.added.name, done.added.people) == ("vision", ("a-colleague", "alice"))
    with InProcess(stored.settings) as former, InProcess(other) as service:
        of_vision = {"q": "project:vision", "page_size": "100"}
        moved = service.user.get("/v1/jobs", params=of_vision).json()["jobs"]
        there = former.user.get("/v1/jobs", params={"page_size": 100}).json()["jobs"]
        ids = [job["id"] for job in there]
        assert [job["id"] for job in moved] == ids
        assert {job["created_at"] for job in moved} == {job["created_at"] for job in there}
        for job_id in ids:
            assert service.events(job_id)["events"] == former.events(job_id)["events"]
        path = f"/v1/jobs/{stored.ended}/artifacts"
        for file in service.user.get(path).json()["artifacts"]:
            content = f"{path}/{file['id']}/content"
            assert service.user.get(content).content == former.user.get(content).content
        by_setting = {"q": "layers.0.neurons=4 state:succeeded project:vision"}
        [ended] = service.user.get("/v1/jobs", params=by_setting).json()["jobs"]
        assert ended["id"] == stored.ended
        members = checked(service.user.get("/v1/projects/vision"))["members"]
        assert ("alice", "maintainer") in [(each["name"], each["role"]) for each in members]
        [mine] = service.user.get("/v1/datasets").json()["datasets"]
        assert mine["name"] == "mine"
        # Paused work continues, beside the service's own.
        checked(service.user.post(f"/v1/jobs/{stored.queued}/resume"))
        assert service.attempt(stored.queued).complete()["state"] == "succeeded"
        checked(service.user.post(f"/v1/sweeps/{stored.sweep}/resume"))
        assert sweep_of(service, stored.sweep)["state"] == "running"
        eventually(lambda: service.user.post("/v1/jobs", json=SPEC).status_code == 202)
        before = counts(service)
    for name, words in (("vision", "has"), ("again", "already")):
        with pytest.raises(Conflict, match=words):
            restore(other, archive, project=name)
    with InProcess(other) as service:
        assert counts(service) == before
        assert service.submit(SPEC, **{"ipulse-project": "vision"})["id"] not in ids


def test_mistakes_change_nothing(
    stored: Stored, archive: Path, other: Settings, tmp_path: Path
) -> None:
    whole = tmp_path / "whole.tar"
    make(stored.settings, whole)
    for path, more in ((whole, {"project": "vision"}), (archive, {"may_replace": True})):
        with pytest.raises(InvalidInput):
            restore(other, path, **more)
    nothing = tmp_path / "nothing"
    nothing.mkdir(mode=0o700)
    with pytest.raises(NotFound):
        restore(stored.elsewhere(nothing), archive)


def test_each_table_is_of_a_project_or_of_the_service() -> None:
    known = [*projects.TABLES, *projects.LEFT_OUT]
    assert len(known) == len(set(known))
    assert set(known) == set(tables.metadata.tables.values())
