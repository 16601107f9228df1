"""A runner trains on the same spikes, whatever form the CSV file has that the service accepts."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from ipulse_core.data_sets import UPLOADED_FOLDER, UPLOADED_NAME
from ipulse_worker.runner.data import Dataset
from ipulse_worker.runner.data.load import load
from ipulse_worker.runner.data.uploaded import directory_of
from tests.core.data_files.csv_files import ACCEPTED, ROWS
from tests.worker.runner.specs import EventsData

pytestmark = pytest.mark.old_python


def read(content: bytes, place: Path) -> Dataset:
    (place / UPLOADED_FOLDER).mkdir(parents=True)
    (place / UPLOADED_FOLDER / f"{UPLOADED_NAME}.csv").write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    shape = {"channels": 12, "classes": 2, "steps": 20, "step_ms": 1.0, "capacity": 12}
    data = EventsData(dataset=f"sha256:{digest}", **shape)
    return load(data, directory_of(data, place, {}), lambda done, samples: None)


def test_every_form_is_the_same_data_set(tmp_path: Path) -> None:
    found = {name: read(content, tmp_path / name) for name, content in ACCEPTED.items()}
    plain = found.pop("plain")
    assert plain.events.read == len(ROWS)
    for name, dataset in found.items():
        assert dataset.labels.tolist() == plain.labels.tolist(), name
        spikes = dataset.trains.spike_channels.tobytes()
        assert spikes == plain.trains.spike_channels.tobytes(), name
