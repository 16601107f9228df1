"""Names of the former release: each warns, and does what it did."""

from __future__ import annotations

import inspect
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

import ipulse
from ipulse import client, handles
from ipulse.client import Connection, Job, JobSelection, SweepStatus
from ipulse.deprecated import FORMER_NAMES
from ipulse_core.errors import NotFound
from ipulse_core.states import JobState
from tests.ipulse.live_service import Agent, LiveService

from .awaited import Awaited
from .scripted_jobs import experiment, run_job

SPEC: dict[str, Any] = {"version": 1, "network": {"layers": [{"neurons": 8}]}}


@pytest.fixture(params=["Client", "AsyncClient"])
def former(request: pytest.FixtureRequest, portal: Any, service: LiveService) -> Iterator[Any]:
    with pytest.deprecated_call():
        made = getattr(client, request.param)(service.url, service.token)
    with made if request.param == "Client" else Awaited(portal, made) as entered:
        yield entered


@pytest.mark.parametrize(
    ("module", "name"), [(m, n) for m in FORMER_NAMES for n in FORMER_NAMES[m]]
)
def test_a_former_name_can_still_be_imported(module: str, name: str) -> None:
    place = {"ipulse.client": client, "ipulse.handles": handles}[module]
    with pytest.deprecated_call(match=name):
        assert inspect.isroutine(getattr(place, name)) or inspect.isclass(getattr(place, name))


def test_an_unknown_name_is_an_error() -> None:
    for place in (client, handles):
        with pytest.raises(AttributeError, match="nothing"):
            place.nothing  # noqa: B018  # the access is what fails


def test_jobs_are_changed_by_id(former: Any) -> None:
    key = uuid.uuid4().hex
    made = former.submit(SPEC, key, tags=["old"])
    assert isinstance(made, Job)
    assert former.submit(SPEC, key, tags=["old"]).id == made.id
    assert former.get(made.id).id == made.id
    assert former.find_id(made.id[:14]) == made.id
    assert former.pause(made.id).state is JobState.PAUSED
    assert former.resume(made.id).state is JobState.QUEUED
    assert former.change_priority(made.id, 3).json["priority"] == 3
    assert former.edit(made.id, notes="n").json["notes"] == "n"
    assert made.id in [job.id for job in former.list("queued", 500, query="tag:old")]
    assert former.count("tag:old") >= 1
    assert former.pause_all(JobSelection(query="tag:old"), dry_run=True).matched >= 1
    assert former.cancel(made.id).state is JobState.CANCELLED
    assert former.wait(made.id, timeout=30).state is JobState.CANCELLED
    assert [event.fields["state"] for event in former.watch(made.id) if event.kind == "state"]
    assert "neurons" in former.spec_text(made.id)
    former.delete(made.id)
    with pytest.raises(NotFound):
        former.get(made.id)


def test_results_are_read_by_id(former: Any, agent: Agent, tmp_path: Any) -> None:
    made = former.submit_all([experiment().spec()])[0]
    run_job(agent, made.id)
    assert former.profile(made.id)["schema"] == "ipulse.profile/1"
    names = {file.name for file in former.artifacts(made.id)}
    assert {path.name for path in former.download(made.id, tmp_path)} == names


def test_sweeps_are_changed_by_id(former: Any) -> None:
    sweep = former.create_sweep(
        {"sweep": "s", "spec": SPEC, "parameters": {"/seed": {"values": [1, 2]}}}
    )
    assert isinstance(sweep, SweepStatus)
    assert former.pause_sweep(sweep.id).state == "paused"
    assert former.change_sweep(sweep.id, parallel=2).parallel == 2
    assert former.sweep(sweep.id).trials == 2
    assert sweep.id in [listed.id for listed in former.sweeps()]
    assert former.stop_sweep(sweep.id).state in ("stopping", "ended")
    assert len(former.sweep_trials(sweep.id)) <= 2


def test_members_of_a_connection(connection: Connection) -> None:
    former: Any = connection
    with pytest.deprecated_call():
        sweep = former.sweep(experiment(), {"seed": [1]}, parallel=1)
    with pytest.deprecated_call():
        assert former.open_sweep(sweep.id) == sweep
    sweep.stop()
    with pytest.deprecated_call():
        assert former.data.list() == connection.datasets()
    with pytest.deprecated_call():
        assert former.client.sweep(sweep.id).id == sweep.id
    connection.agents()  # the former client has not closed it
    with pytest.raises(AttributeError, match="nothing"):
        former.nothing  # noqa: B018  # the access is what fails


def test_the_names_of_the_package_are_not_former_ones(recwarn: pytest.WarningsRecorder) -> None:
    assert ipulse.connect is client.connect
    assert not recwarn.list
