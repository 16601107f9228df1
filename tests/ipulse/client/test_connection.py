"""Searches, comparisons, plans and data sets of a connection, against the real service."""

from __future__ import annotations

import uuid
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ipulse
from ipulse import LIF
from ipulse.client import Connection, JobHandle, JobRequest
from ipulse_core.errors import InvalidInput, InvalidSpec, NotFound
from tests.ipulse.live_service import Agent, LiveService
from tests.ipulse.reserved_pool import reserved_pool

from .conftest import on_both
from .scripted_jobs import Ended, experiment, run_job

ACCURACIES = {0.1: (0.5, 0.7, 0.9), 0.01: (0.25, 0.5, 0.25)}  # by learning rate, then by seed


@pytest.fixture
def jobs(connection: Connection, agent: Agent) -> list[JobHandle]:
    """Two learning rates with three seeds each, in a group of their own."""
    group = f"g{uuid.uuid4().hex[:12]}"
    made = []
    for rate, accuracies in ACCURACIES.items():
        for seed, accuracy in enumerate(accuracies):
            job = connection.submit(experiment(learning_rate=rate, seed=seed), group=group)
            run_job(agent, job.id, accuracy=accuracy)
            made.append(job.refresh())
    return made


def test_a_search_is_a_list_that_is_read_when_needed(
    connection: Connection, jobs: list[JobHandle]
) -> None:
    found = connection.jobs(f"group:{jobs[0].group}", sort="-test_accuracy")
    assert len(found) == 6
    assert found[0] == jobs[2]
    assert found[:2] == [jobs[2], jobs[1]]
    assert found[-1] in jobs
    assert set(found) == set(jobs)
    with pytest.raises(IndexError):
        found[6]
    frame = found.frame(["learning_rate", "test_accuracy", "nobody"])
    assert frame.loc[jobs[2].id, "test_accuracy"] == 0.9
    assert set(frame["learning_rate"]) == set(ACCURACIES)
    assert frame["nobody"].isna().all()
    best = connection.jobs(f"group:{jobs[0].group} test_accuracy>0.6")
    assert {job.id for job in best} == {jobs[1].id, jobs[2].id}
    with pytest.raises(InvalidInput):
        list(connection.jobs("test_accuracy>"))


def test_a_comparison_has_what_differs(connection: Connection, jobs: list[JobHandle]) -> None:
    comparison = ipulse.compare(connection.jobs(f"group:{jobs[0].group}"))
    config = comparison.config()
    assert set(config.columns) == {"seed", "training.optimizer.learning_rate"}
    assert config.loc[jobs[3].id, "training.optimizer.learning_rate"] == 0.01
    summary = comparison.summary(over="seed")
    for rate, accuracies in ACCURACIES.items():
        row = summary.loc[rate]
        assert (row["n"], row["of"]) == (3, 3)
        np.testing.assert_allclose(row["mean"], np.mean(accuracies))
        np.testing.assert_allclose(row["sd"], np.std(accuracies, ddof=1))
    curves = comparison.curves("test_accuracy")
    assert curves.loc[2, jobs[0].id] == 0.9
    grouped = comparison.curves("test_accuracy", group_by="learning_rate")
    assert list(grouped.columns) == [0.01, 0.1]
    for wrong in ("nobody", "decay"):
        with pytest.raises(NotFound):
            comparison.curves("test_accuracy", group_by=wrong)


def test_equal_jobs_have_no_differences(ended: Ended) -> None:
    comparison = ipulse.compare([ended(), ended()])
    assert list(comparison.config().columns) == []
    assert comparison.summary().loc["all", "n"] == 2


@on_both
def test_spikes_of_a_sample(ended: Ended) -> None:
    job = ended()
    sample = job.spikes(1)
    assert (sample.sample, sample.label, sample.predicted) == (12, 3, 5)
    assert sample.layers == {"input": ([0, 1], [4, 5]), "1": ([2], [1])}
    figure = sample.plot()
    assert len(figure.axes) == 2
    for wrong in (2, -1):
        with pytest.raises(NotFound):
            job.spikes(wrong)


@on_both
def test_several_jobs_are_submitted_or_none(connection: Connection) -> None:
    group = f"g{uuid.uuid4().hex[:12]}"
    second = JobRequest(experiment(seed=2).spec(), group=group, after=["/jobs/0:end"])
    first = JobRequest(experiment(seed=1).spec(), group=group)
    made = connection.submit_all([first, second, experiment(seed=3)])
    assert [job.spec["seed"] for job in made] == [1, 2, 3]
    assert [job.state for job in made[:2]] == ["queued", "blocked"]
    missing = {"version": 1, "network": {"layers": [{"neurons": 4}]}, "start": "nothing"}
    with pytest.raises(InvalidSpec) as caught:
        connection.submit_all([first, missing])
    assert [problem.pointer for problem in caught.value.problems] == ["/jobs/1/spec/start"]
    assert len(connection.jobs(f"group:{group}")) == 2


@on_both
def test_n26_a_plan_stores_nothing(connection: Connection) -> None:
    before = len(connection.jobs())
    plan = connection.plan(experiment(layers=[LIF(7)]))
    assert plan.spec["network"]["layers"][0]["neurons"] == 7
    assert len(connection.jobs()) == before
    with pytest.raises(InvalidSpec):
        connection.plan(experiment(epochs=0))


@on_both
def test_a_plan_with_a_limit_starts_before_a_reservation(
    connection: Connection, service: LiveService
) -> None:
    agent = service.agent("reserved")  # which has no job of another test
    with closing(agent), reserved_pool(service, agent) as pool:
        wanted = experiment(device={"pool": pool})
        assert connection.plan(wanted, run_seconds=7200).waiting_reason == "reservation"
        assert connection.plan(wanted, run_seconds=60).waiting_reason == "wake_up"
    with pytest.raises(InvalidInput):
        connection.plan(wanted, run_seconds=0)


@on_both
def test_arrays_and_files_are_uploaded_as_data_sets(connection: Connection, tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    arrays: dict[str, Any] = {
        "spikes": draw.random((40, 10, 8)) < 0.2,
        "labels": np.arange(40) % 4,
    }
    version = connection.push_dataset(name="mine", **arrays)
    assert (version.state, version.kind) == ("ready", "npz")
    assert connection.dataset("mine").sha256 == version.sha256
    np.savez(tmp_path / "same.npz", **arrays)
    assert connection.push_dataset(tmp_path / "same.npz").dataset == "same"
    (tmp_path / "folder" / ".git").mkdir(parents=True)
    (tmp_path / "folder" / "a.txt").write_text("")
    with pytest.warns(UserWarning, match="1 hidden"), pytest.raises(InvalidInput):
        connection.push_dataset(tmp_path / "folder")
    with pytest.warns(UserWarning, match="1 hidden"):
        assert connection.push_dataset(tmp_path / "folder", check=False).state == "refused"
    assert {"mine", "same"} <= {listed.dataset for listed in connection.datasets()}
    wrong: Any
    for wrong in ({}, {"path": "x", "labels": [1]}, {"labels": [1]}):
        with pytest.raises(InvalidInput):
            connection.push_dataset(**wrong)
    connection.delete_dataset("same")
