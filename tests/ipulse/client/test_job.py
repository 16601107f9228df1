"""Handles of jobs against the real service."""

from __future__ import annotations

import math
import pickle
import threading
from pathlib import Path

import numpy as np
import pytest

import ipulse
from ipulse import Experiment, JobFailed
from ipulse.client import Connection
from ipulse.client.jobs.job_profile import JobProfile
from ipulse_core.errors import Conflict, InvalidInput, InvalidSpec, NotFound
from ipulse_core.states import STATE_OF_PHASE, JobState, Phase
from tests.ipulse.live_service import Agent, LiveService

from .conftest import on_both
from .scripted_jobs import EPOCHS, Ended, experiment, files, profile, run_job, weights


@on_both
def test_a_submitted_job_has_a_handle(connection: Connection) -> None:
    job = connection.submit(experiment(), tags=["baseline"], notes="first", priority=3)
    assert job.state is JobState.QUEUED
    assert (job.name, job.tags, job.json["priority"]) == ("small", ("baseline",), 3)
    assert job.id in job.url
    assert job.url.startswith(connection.url)
    assert job.experiment == experiment()
    assert connection.job(job.id[:12]) == job
    assert job.edit(name="renamed", add_tags=["b"]).refresh().name == "renamed"
    assert job.cancel().state is JobState.CANCELLED
    job.delete()
    with pytest.raises(NotFound):
        job.refresh()


@on_both
def test_a_wrong_experiment_is_refused_with_every_problem(connection: Connection) -> None:
    with pytest.raises(InvalidSpec) as refused:
        connection.submit(experiment(epochs=0, batch_size=0))
    assert len(refused.value.problems) == 2


@on_both
def test_waiting_returns_when_the_job_has_succeeded(
    connection: Connection, agent: Agent, capfd: pytest.CaptureFixture[str]
) -> None:
    job = connection.submit(experiment())
    running = threading.Thread(target=run_job, args=(agent, job.id))
    running.start()
    assert job.wait(progress=True, timeout=60) is job
    running.join()
    assert job.summary == {"test_accuracy": 0.9}
    shown = capfd.readouterr().err
    assert "run 100%  epoch 3/3" in shown
    names = {name.value for pair in STATE_OF_PHASE.items() for name in pair}
    phases = [line for line in shown.splitlines() if line in names]
    assert phases == [phase.value for phase in Phase], "each once"


@on_both
def test_a_failed_job_raises_its_reason_and_the_end_of_its_log(ended: Ended) -> None:
    job = ended(fails=True)
    with pytest.raises(JobFailed, match="the memory is full") as failed:
        job.wait()
    assert failed.value.reason == "out_of_memory"
    assert "nothing is left" in [line.message for line in failed.value.log]
    assert "nothing is left" in str(failed.value)
    copy = pickle.loads(pickle.dumps(failed.value))  # noqa: S301  # as a process pool does
    assert (str(copy), copy.log, copy.job_id) == (str(failed.value), failed.value.log, job.id)


@on_both
def test_a_retried_job_is_waited_for_again(
    connection: Connection, ended: Ended, agent: Agent
) -> None:
    job = ended(fails=True)
    assert connection.job(job.id).retry().state is JobState.QUEUED
    assert job.state is JobState.FAILED, "a handle has what it last read"
    assert job.retry().state is JobState.QUEUED
    run_job(agent, job.id)
    assert job.wait(timeout=60).state is JobState.SUCCEEDED
    with pytest.raises(Conflict, match="clone"):
        job.retry()


@on_both
@pytest.mark.parametrize("progress", [False, True])
def test_waiting_ends_at_the_deadline(connection: Connection, progress: bool) -> None:
    job = connection.submit(experiment())
    with pytest.raises(TimeoutError):
        job.wait(timeout=0.1, progress=progress)


@on_both
def test_metrics_are_columns_by_epoch_or_step(ended: Ended) -> None:
    job = ended()
    columns = job.metrics("loss", "test_accuracy", as_="columns")
    losses, accuracies = ([pair[index] for pair in EPOCHS] for index in (0, 1))
    assert columns == {"epoch": [1, 2, 3], "loss": losses, "test_accuracy": accuracies}
    frame = job.metrics()
    assert list(frame.index) == [1, 2, 3]
    assert frame.index.name == "epoch"
    assert list(frame["test_accuracy"]) == accuracies
    steps = job.metrics("loss", scope="step", as_="columns")
    assert steps["step"] == [5, 10, 15, 20, 25, 30]
    assert math.isclose(steps["loss"][0], 2.2)
    times = job.metrics("loss", x="wall_time", as_="columns")["wall_time"]
    assert times == sorted(times)
    best = job.best("test_accuracy")
    assert (best.epoch, best.value) == (2, 0.9)
    assert job.best("test_loss").epoch == 3


@on_both
def test_long_curves_are_read_in_parts(ended: Ended, monkeypatch: pytest.MonkeyPatch) -> None:
    job = ended()
    whole = job.metrics("loss", "accuracy", scope="step", as_="columns")
    monkeypatch.setattr("ipulse.client.blocking.metrics.MOST_POINTS", 2)
    assert job.metrics("loss", "accuracy", scope="step", as_="columns") == whole


@on_both
def test_a_job_that_has_not_begun_has_no_results(connection: Connection) -> None:
    job = connection.submit(experiment())
    assert job.metrics().empty
    assert job.logs("warning") == []
    assert job.summary == {}
    for read in (job.best, job.weights, job.network, job.profile, job.spikes):
        with pytest.raises(NotFound):
            read()
    job.cancel()


@on_both
def test_unknown_metrics_scopes_and_axes_are_refused(ended: Ended) -> None:
    job = ended()
    with pytest.raises(NotFound, match="test_accuracy"):
        job.metrics("acuracy")
    for wrong in ({"scope": "run"}, {"x": "time"}):
        with pytest.raises(InvalidInput):
            job.metrics(**wrong)
    with pytest.raises(InvalidInput):
        job.logs(level="loud")


@on_both
def test_a_resumed_attempt_replaces_what_it_repeats(connection: Connection, agent: Agent) -> None:
    job = connection.submit(experiment())
    attempt = agent.claim(job.id)
    for phase in ("prepare", "compile", "acquire", "run"):
        attempt.report({"kind": "phase", "phase": phase})
    for epoch, loss in ((1, 3.0), (2, 2.0), (2, 1.0)):
        metric = {"kind": "metric", "epoch": epoch, "epochs": 3, "step": epoch, "steps": 3}
        attempt.report({**metric, "values": {"loss": loss}, "scope": "epoch"})
    assert job.metrics("loss", as_="columns") == {"epoch": [1, 2], "loss": [3.0, 1.0]}
    attempt.finish("out_of_memory")


@on_both
def test_logs_by_level(ended: Ended) -> None:
    job = ended()
    assert [line.message for line in job.logs(level="warning")] == ["is odd"]
    assert "begins" in [line.message for line in job.logs()]


def test_files_are_found_by_name(ended: Ended, folder: Path) -> None:
    job = ended()
    assert set(job.files) == {*files(), "checkpoint.npz"}
    report = job.files["report.html"]
    assert (report.role, report.size) == ("report", len(files()["report.html"]))
    assert report.download(folder).read_bytes() == report.read() == files()["report.html"]
    assert "missing" not in job.files
    assert job.files.get("missing") is None
    with pytest.raises(NotFound, match=r"report\.html"):
        job.files["missing"]
    with pytest.raises(NotFound):
        job.download_file("../token", folder)


@on_both
def test_a_job_begins_from_another(connection: Connection, ended: Ended) -> None:
    job = ended()
    more = job.continue_training(epochs=4)
    assert more.experiment.replace(epochs=3) == experiment()
    tuned = connection.submit(experiment(learning_rate=0.003), start_from=job, start_mode="weights")
    for started, mode in ((more, "continue"), (tuned, "weights")):
        start = started.json["start_from"]
        assert (start["job"], start["mode"]) == (job.id, mode)
        started.cancel()


@on_both
def test_weights_are_arrays(ended: Ended) -> None:
    found = ended().weights()
    assert found.keys() == weights().keys()
    for name, array in weights().items():
        np.testing.assert_array_equal(found[name], array)


@on_both
def test_the_profile_is_tables(ended: Ended) -> None:
    found = ended().profile()
    assert found.json == profile()
    assert found.layers.loc["1", "firing_rate"] == 0.1
    assert found.phases.loc["run", "seconds"] == 1.5
    assert found.memory == {"weights": 100}


def test_two_profiles_differ_in_what_changed() -> None:
    before, after = profile(), profile()
    assert len(JobProfile(before).diff(JobProfile(after))) == 0
    after["execution"]["phases"][0]["seconds"] = 3.0
    after["memory"]["optimizer"] = {"bytes": 200, "how": "computed"}
    found = JobProfile(before).diff(JobProfile(after))
    assert list(found.index) == [("phases", "run"), ("memory", "optimizer")]
    assert found.loc[("phases", "run"), "relative"] == 1.0
    assert found.loc[("memory", "optimizer"), "change"] == 200


@on_both
def test_the_profile_of_the_tiles_has_the_names_of_libpva(ended: Ended) -> None:
    (tile,) = ended().tile_report().compilation.tiles
    assert tile.memory.total.includingGaps == 120


def test_handles_are_equal_by_job_and_can_be_pickled(ended: Ended) -> None:
    job = ended()
    copy = pickle.loads(pickle.dumps(job))  # noqa: S301  # our own bytes
    assert copy == job
    assert len({copy, job}) == 1
    assert copy.refresh().summary == job.summary
    assert job != "text"


def test_a_token_never_gets_into_a_pickle(service: LiveService) -> None:
    with ipulse.connect(service.url, service.token) as connection:
        assert service.token not in repr(connection)
        with pytest.raises(Conflict, match="token_file"):
            pickle.dumps(connection)


@on_both
def test_epochs_are_followed_as_they_end(connection: Connection, agent: Agent) -> None:
    job = connection.submit(experiment(), tags=["a"])
    running = threading.Thread(target=run_job, args=(agent, job.id))
    running.start()
    followed = [point["test_accuracy"] for point in job.follow("test_accuracy")]
    running.join()
    assert followed == [accuracy for _, accuracy in EPOCHS]
    assert job.experiment == Experiment.from_spec(job.spec)
