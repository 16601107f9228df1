"""A user's data from the file to a trained network, through a real service, agent and runner."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ipulse.cli.display.progress import accuracy_of
from ipulse.client import Connection
from ipulse.stack.stack import Stack
from tests.service.conditions import eventually
from tests.service.datasets.files import hdf5, n_mnist, spikes

SECONDS = 300.0


def spec(**data: Any) -> dict[str, Any]:
    return {
        "version": 1,
        "name": "own-data",
        "data": data,
        "network": {"layers": [{"neurons": 16}]},
        "training": {"epochs": 12, "batch_size": 8},
        "device": {"kind": "cpu", "threads": 1},
    }


def files_of(kind: str, folder: Path) -> Path:
    if kind == "npz":
        path = folder / "mine.npz"
        path.write_bytes(spikes(samples=80, steps=12, channels=8))
    elif kind == "events":
        path = folder / "mine.h5"
        hdf5(path, samples=80, channels=8, events=100)
    else:
        path = folder / "mine.zip"
        path.write_bytes(n_mnist())
    return path


@pytest.mark.parametrize(
    "kind", ["npz", "events", pytest.param("n_mnist", marks=pytest.mark.verify)]
)
def test_a_job_learns_from_an_upload(
    stack: Stack, client: Connection, tmp_path: Path, kind: str
) -> None:
    version = client.push_dataset(files_of(kind, tmp_path), f"own-{kind}")
    assert (version.state, version.kind) == ("ready", kind), version.refusal
    chosen = {} if kind == "n_mnist" else {"validation": 0.25}  # too few samples
    job = client.submit(spec(kind=kind, dataset=f"own-{kind}@1", **chosen))
    assert job.json["spec"]["data"]["dataset"] == f"sha256:{version.sha256}"
    ended = client.job(job.id).wait(SECONDS, check=False)
    assert ended.state.value == "succeeded", ended.message
    if kind != "n_mnist":  # two classes in two halves of the channels
        assert ended.json["summary"]["test_accuracy"] > 0.9
        assert ended.json["summary"]["validation_accuracy"] > 0.9
    # The agent has the data now, and the name of the version is no matter for a second job.
    again = client.submit(spec(kind=kind, dataset=f"sha256:{version.sha256}"))
    assert client.job(again.id).wait(SECONDS, check=False).state.value == "succeeded"
    messages = [event.fields.get("message", "") for event in client.job(again.id).events()]
    assert "downloading the data set" not in messages
    agents = [agent.name for agent in client.agents() if agent.state != "offline"]
    eventually(lambda: client.dataset(f"own-{kind}").json["agents"] == agents, 60)
    client.delete_dataset(f"own-{kind}")
    assert client.job(again.id).state.value == "succeeded"


def test_a_regression_has_errors_and_no_accuracy(
    stack: Stack, client: Connection, tmp_path: Path
) -> None:
    random = np.random.RandomState(7)
    rates = random.uniform(0.1, 0.9, (40, 1, 1))
    some = random.rand(40, 12, 8) < rates
    path = tmp_path / "rates.npz"
    np.savez(path, spikes=some, targets=np.broadcast_to(2 * rates - 1, (40, 12, 1)))
    version = client.push_dataset(path, "rates")
    assert version.state == "ready", version.refusal
    document = spec(kind="npz", dataset="rates", validation=0.2)
    document["training"]["loss"] = "step_mse"
    job = client.submit(document).wait(SECONDS, check=False)
    assert job.state.value == "succeeded", job.message
    summary = job.json["summary"]
    assert {"test_mae", "test_r2", "mae", "validation_mae", "test_loss"} <= set(summary)
    assert not any("accuracy" in name for name in summary)
    paths = {path.name: path for path in client.job(job.id).download(tmp_path / "files")}
    report = paths["report.html"].read_text("utf-8")
    assert 'id="regression"' in report and 'id="confusion"' not in report  # noqa: PT018
    sample = json.loads(paths["spikes.json"].read_text("utf-8"))["samples"][0]
    assert (sample["label"], len(sample["targets"][0])) == (None, 12)
    assert f"{summary['test_mae']:.4f}" in accuracy_of(job)


@pytest.mark.verify
def test_a_damaged_file_ends_as_data_unavailable(
    stack: Stack, client: Connection, home: Path, tmp_path: Path
) -> None:
    path = tmp_path / "damaged.npz"
    path.write_bytes(spikes(samples=30, seed=99))
    version = client.push_dataset(path, "damaged")
    (stored,) = home.rglob(version.sha256)
    content = bytearray(stored.read_bytes())
    content[len(content) // 2] ^= 1
    stored.write_bytes(content)
    job = client.submit(spec(kind="npz", dataset="damaged"))
    ended = client.job(job.id).wait(2 * SECONDS, check=False)
    assert (ended.state.value, ended.json["reason"]) == ("failed", "data_unavailable")
    assert version.sha256[:12] in ended.message
    assert len(ended.json["attempts"]) > 1
