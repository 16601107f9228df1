"""Exports, read back by the programs that they are for."""

from __future__ import annotations

import csv
import json
import math
import struct
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ipulse.client import Connection, JobHandle
from ipulse.exports.following import follow_jobs
from ipulse.exports.record import JobRecord, record_of
from tests.ipulse.client.scripted_jobs import EPOCHS, experiment, weights
from tests.service.conditions import eventually

from .conftest import HOSTILE, Export


@pytest.fixture
def record(connection: Connection, job: JobHandle) -> JobRecord:
    return record_of(job)


def test_tables_have_every_value_to_the_last_digit(
    export: Export, job: JobHandle, record: JobRecord, tmp_path: Path
) -> None:
    assert export("csv", job.id, "--to", str(tmp_path)) == 0
    with open(tmp_path / "metrics.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    found = {(row["scope"], int(row["step"]), row["name"]): float(row["value"]) for row in rows}
    assert found == {
        (point.scope, point.step, name): value
        for point in record.points
        for name, value in point.values.items()
    }
    columns = job.metrics("test_accuracy", as_="columns")
    assert [found["epoch", 10 * epoch, "test_accuracy"] for epoch in (1, 2, 3)] == columns[
        "test_accuracy"
    ]
    with open(tmp_path / "jobs.csv", newline="") as file:
        [row] = csv.DictReader(file)
    assert (row["id"], row["name"], row["spec.training.epochs"]) == (job.id, HOSTILE, "3")
    assert float(row["final.test_accuracy"]) == 0.9


def test_jobs_are_chosen_by_a_search(export: Export, job: JobHandle, tmp_path: Path) -> None:
    job.edit(add_tags=["searched"])
    assert export("csv", "-q", "tag:searched", "--to", str(tmp_path)) == 0
    with open(tmp_path / "jobs.csv", newline="") as file:
        assert [row["id"] for row in csv.DictReader(file)] == [job.id]
    assert export("csv", "-q", "tag:nobody", "--to", str(tmp_path)) == 2
    assert export("csv", "--to", str(tmp_path)) == 2


def test_parquet_is_read_by_pandas(export: Export, job: JobHandle, tmp_path: Path) -> None:
    import pandas as pd

    assert export("parquet", job.id, "--to", str(tmp_path)) == 0
    wide = pd.read_parquet(tmp_path / "metrics_wide.parquet")
    epochs = wide[wide.scope == "epoch"]
    assert list(zip(epochs.loss, epochs.test_accuracy, strict=True)) == EPOCHS
    jobs = pd.read_parquet(tmp_path / "jobs.parquet")
    assert jobs.loc[0, "spec.network.layers.0.neurons"] == 6
    assert jobs.loc[0, "tags"] == "b baseline"


def test_tensorboard_reads_values_steps_times_and_hyperparameters(
    export: Export,
    job: JobHandle,
    record: JobRecord,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # TensorBoard's readers otherwise import TensorFlow, which takes seconds.
    monkeypatch.setitem(sys.modules, "tensorboard.compat.notf", types.ModuleType("notf"))
    from tensorboard.backend.event_processing import event_accumulator
    from tensorboard.plugins.hparams import plugin_data_pb2

    for _ in range(2):  # a repeat replaces
        assert export("tensorboard", job.id, "--to", str(tmp_path)) == 0
    [folder] = tmp_path.iterdir()
    assert folder.name.endswith(job.id)
    assert len(list(folder.iterdir())) == 1
    sizes = {"scalars": 0, "histograms": 0, "images": 0}
    reader = event_accumulator.EventAccumulator(str(folder), sizes)
    reader.Reload()
    epochs = [point for point in record.points if point.scope == "epoch"]
    for event, point in zip(reader.Scalars("test/accuracy"), epochs, strict=True):
        assert event.step == point.step
        assert event.wall_time == point.time.timestamp()
        assert event.value == np.float32(point.values["test_accuracy"])
    assert len(reader.Scalars("batch/loss")) == 6
    assert {f"weights/{name}" for name in weights()} == set(reader.Tags()["histograms"])
    histogram = reader.Histograms("weights/layer_1")[0].histogram_value
    assert histogram.num == weights()["layer_1"].size
    [image] = reader.Images("spikes/input")
    assert (image.width, image.height) == (40, 6)  # steps, and channels up to the last that spikes
    content = reader.PluginTagToContent("hparams")["_hparams_/session_start_info"]
    data = plugin_data_pb2.HParamsPluginData.FromString(content).session_start_info
    assert data.hparams["training.epochs"].number_value == 3
    assert data.hparams["name"].string_value == "small"  # of the spec


def test_hints_are_left_out_on_demand(
    export: Export, job: JobHandle, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("tensorboard", job.id, "--to", str(tmp_path))
    assert export(*words) == 0
    assert capsys.readouterr().err
    assert export(*words, command=["-q", "export"]) == 0
    printed = capsys.readouterr()
    assert (printed.err, printed.out.count("\n")) == ("", 1)
    assert export("csv", "-q", "epochs>", command=["-q", "export"]) == 2
    assert "--query: " in capsys.readouterr().err  # errors stay, with their places


@pytest.mark.verify
@pytest.mark.filterwarnings("ignore")  # MLflow and SQLAlchemy deprecate parts of each other
def test_mlflow_shows_the_job_and_a_repeat_updates_it(
    export: Export,
    job: JobHandle,
    record: JobRecord,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    monkeypatch.chdir(tmp_path)
    for tag in ("first", "second"):
        job.edit(add_tags=[tag])
        assert export("mlflow", job.id, "--to", uri) == 0
    program = f"""
import json, warnings
warnings.simplefilter("ignore")
from mlflow.tracking import MlflowClient
client = MlflowClient(tracking_uri={uri!r})
[experiment] = [e for e in client.search_experiments() if e.name == "ipulse"]
[run] = client.search_runs([experiment.experiment_id])
history = client.get_metric_history(run.info.run_id, "test/accuracy")
print(json.dumps({{
    "parameters": run.data.params, "tags": run.data.tags, "status": run.info.status,
    "history": [(m.step, m.value, m.timestamp) for m in history],
    "files": [f.path for f in client.list_artifacts(run.info.run_id)],
}}))
"""
    command = [sys.executable, "-c", program]
    read = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    found = json.loads(read.stdout.splitlines()[-1])
    assert found["parameters"]["training.epochs"] == "3"
    assert found["tags"]["ipulse.job"] == job.id
    assert {"ipulse.tag.first", "ipulse.tag.second"} <= found["tags"].keys()
    assert found["tags"]["mlflow.runName"] == HOSTILE
    assert found["status"] == "FINISHED"
    epochs = [point for point in record.points if point.scope == "epoch"]
    assert found["history"] == [
        [point.step, point.values["test_accuracy"], round(point.time.timestamp() * 1000)]
        for point in epochs
    ]
    assert set(found["files"]) == set(job.files)


@pytest.mark.verify
def test_wandb_reads_the_offline_run(export: Export, job: JobHandle, tmp_path: Path) -> None:
    for _ in range(2):  # a repeat replaces
        assert export("wandb", job.id, "--to", str(tmp_path)) == 0
    [folder] = (tmp_path / "wandb").glob("offline-run-*")
    [file] = folder.glob("*.wandb")
    records = list(wandb_records(file))
    [run] = [record.run for record in records if record.HasField("run")]
    assert (run.run_id, run.display_name, list(run.tags)) == (job.id, HOSTILE, ["b", "baseline"])
    history = [
        {item.key or "/".join(item.nested_key): item.value_json for item in record.history.item}
        for record in records
        if record.HasField("history")
    ]
    accuracies = [float(row["test/accuracy"]) for row in history if "test/accuracy" in row]
    assert accuracies == [accuracy for _, accuracy in EPOCHS]
    assert [float(row["training_step"]) for row in history] == [5, 10, 15, 20, 25, 30]
    assert math.isclose(float(history[1]["epoch"]), 1)
    assert {path.name for path in (folder / "files").iterdir()} >= set(job.files)


def wandb_records(path: Path) -> Iterator[Any]:
    """Reads a .wandb file (a LevelDB log after a header of 7 bytes) by W&B's own messages."""
    from wandb.proto import wandb_internal_pb2

    data, at, whole = path.read_bytes(), 7, b""
    while at + 7 <= len(data):
        if 32768 - at % 32768 < 7:  # the rest of a block is padding
            at += 32768 - at % 32768
            continue
        _, length, kind = struct.unpack_from("<IHB", data, at)
        whole += data[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):  # the whole record, or its last part
            yield wandb_internal_pb2.Record.FromString(whole)
            whole = b""


def test_tensorboard_is_written_while_a_job_trains(
    connection: Connection, agent: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tensorboard.compat.notf", types.ModuleType("notf"))
    from tensorboard.backend.event_processing import event_accumulator

    job = connection.submit(experiment())
    attempt = agent.claim(job.id)
    metric = {"kind": "metric", "epochs": 3, "steps": 30, "scope": "epoch"}

    def measure(epoch: int) -> None:
        values = {"test_accuracy": epoch / 4}
        attempt.report({**metric, "epoch": epoch, "step": 10 * epoch, "values": values})

    for phase in ("prepare", "compile", "acquire", "run"):
        attempt.report({"kind": "phase", "phase": phase})
    measure(1)
    looks = 0

    def find() -> list[JobHandle]:
        """The jobs to follow; what the agent does between two looks."""
        nonlocal looks
        looks += 1
        if looks == 2:
            eventually(lambda: scalars() == [(10, 0.25)])  # it still trains
            measure(2)
        if looks == 3:
            attempt.finish("out_of_memory", "the memory is full")
        return [job]

    def scalars() -> list[tuple[int, float]]:
        [folder] = tmp_path.iterdir()
        reader = event_accumulator.EventAccumulator(str(folder), {"scalars": 0})
        reader.Reload()
        known = "test/accuracy" in reader.Tags()["scalars"]
        events = reader.Scalars("test/accuracy") if known else []
        return [(event.step, event.value) for event in events]

    [folder] = follow_jobs(find, tmp_path, pause=0)
    assert folder.endswith(job.id)
    assert scalars() == [(10, 0.25), (20, 0.5)]
    assert looks == 3
