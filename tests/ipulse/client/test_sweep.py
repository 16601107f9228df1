"""Handles of sweeps against the real service."""

from __future__ import annotations

import pytest

from ipulse.client import Connection
from ipulse_core.errors import Conflict, InvalidInput, InvalidSpec
from tests.ipulse.live_service import Agent
from tests.service.conditions import eventually

from .conftest import on_both
from .scripted_jobs import experiment, play

RATES = (0.1, 0.01)


@on_both
def test_a_sweep_is_followed_to_its_best_trial(connection: Connection, agent: Agent) -> None:
    vary = {"learning_rate": list(RATES), "layers[0].neurons": [4]}
    sweep = connection.create_sweep(experiment(seed=7), vary, seeds=2, name="two rates")
    assert (sweep.name, sweep.state) == ("two rates", "running")
    assert connection.sweep(sweep.id) == sweep
    eventually(lambda: len(sweep.jobs) == 4)  # the service submits them in the background
    waiting = {job.id: job for job in sweep.jobs}
    while waiting:
        claimed, attempt = agent.claim_next(next(iter(waiting)))
        if claimed in waiting:  # another test may have left jobs in the queue
            spec = waiting.pop(claimed).spec
            rate = spec["training"]["optimizer"]["learning_rate"]
            play(attempt, accuracy=0.9 - rate - (spec["seed"] - 7) / 100)
    ended = list(sweep.as_completed())
    assert len(ended) == 4
    assert all(job.state.is_terminal for job in ended)
    assert sweep.wait().state == "ended"
    frame = sweep.frame()
    assert set(frame.index) == {job.id for job in ended}
    assert list(frame.columns) == [
        "trial",
        "seed",
        "learning_rate",
        "neurons",
        "state",
        "test_accuracy",
    ]
    means = frame.groupby("learning_rate").test_accuracy.mean()
    assert means[0.01] == pytest.approx(0.885)
    best = sweep.best()
    assert best is not None
    assert (best.parameters["/training/optimizer/learning_rate"], best.n) == (0.01, 2)
    assert best.value == pytest.approx(0.885)


@on_both
def test_seeds_alone_are_one_trial(connection: Connection) -> None:
    sweep = connection.create_sweep(experiment(seed=7), seeds=3)
    eventually(lambda: len(sweep.jobs) == 3)
    [trial] = sweep.trials()
    assert (trial.parameters, [job["seed"] for job in trial.json["jobs"]]) == ({}, [7, 8, 9])
    sweep.stop(running="cancel")
    with pytest.raises(InvalidInput):
        connection.create_sweep(experiment())


@on_both
def test_a_sweep_can_be_paused_resumed_and_stopped(connection: Connection) -> None:
    sweep = connection.create_sweep(experiment(), {"seed": [1, 2, 3]}, parallel=1)
    assert sweep.best() is None
    eventually(lambda: len(sweep.jobs) == 1)
    assert sweep.pause().state == "paused"
    assert sweep.resume().state == "running"
    sweep.stop()
    assert [job.state.is_terminal for job in sweep.as_completed()] == [True]
    assert sweep.state == "ended"


@on_both
def test_seeds_that_are_varied_have_columns_of_their_own(connection: Connection) -> None:
    vary = {"seed": [11], "data.seed": [5]}
    sweep = connection.create_sweep(experiment(data={"kind": "randman"}), vary)
    eventually(lambda: len(sweep.jobs) == 1)
    sweep.stop()
    frame = sweep.wait().frame()
    assert list(frame.columns) == ["trial", "seed", "data.seed", "state", "test_accuracy"]
    [row] = frame.to_dict("records")
    assert (row["seed"], row["data.seed"], row["state"]) == (11, 5, "cancelled")


@on_both
def test_a_regression_is_compared_by_its_error_and_stopping_keeps_what_runs(
    connection: Connection, agent: Agent
) -> None:
    data = {"kind": "npz", "name": "mine", "channels": 4, "outputs": 1, "steps": 10}
    regression = experiment(data=data, loss="step_mse")
    sweep = connection.create_sweep(regression, {"seed": [1, 2]}, parallel=1)
    assert sweep.json["config"]["objective"]["metric"] == "test_mae"
    assert sweep.json["config"]["objective"]["goal"] == "minimize"
    sweep.stop()

    running = connection.create_sweep(experiment(), {"seed": [1]})
    eventually(lambda: len(running.jobs) == 1)
    [job] = running.jobs
    attempt = agent.claim(job.id)
    running.stop()
    assert not job.refresh().state.is_terminal
    play(attempt)
    assert running.wait().state == "ended"
    job.refresh().delete()
    assert list(running.as_completed()) == []


@on_both
def test_a_part_is_repeated(connection: Connection, agent: Agent) -> None:
    sweep = connection.create_sweep(experiment(), {"seed": [1, 2]})
    eventually(lambda: len(sweep.jobs) == 2)
    for job in reversed(list(sweep.jobs)):  # the order of the queue
        agent.claim(job.id).finish("diverged", "no finite loss")
    assert {job.state.value for job in sweep.as_completed()} == {"failed"}
    assert sweep.wait().retry(trials=[2]).state == "running"
    assert [trial.state for trial in sweep.trials()] == ["failed", "running"]
    sweep.stop()
    sweep.wait()
    with pytest.raises(Conflict):
        sweep.retry(deleted=True)


@on_both
def test_wrong_sweeps_are_refused(connection: Connection) -> None:
    with pytest.raises(InvalidInput):
        connection.create_sweep(experiment(), {})
    with pytest.raises(InvalidSpec):
        connection.create_sweep(experiment(), {"decay": [0.5]})
    with pytest.raises(InvalidInput):
        connection.create_sweep(experiment(), {"epochs": [0, "x"]})
    with pytest.raises(InvalidInput):
        connection.create_sweep(experiment(), {"learning_rate": {"log_uniform": [1e-3, 1e-1]}})
