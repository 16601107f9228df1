"""Paused jobs of earlier versions train on from the checkpoints that these wrote."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from typing import Any, Dict, Tuple

import numpy as np
import pytest

from ipulse_core.spec.upgrade import spec_key, upgrade
from ipulse_worker.runner.cancellation import Cancellation, Cancelled
from ipulse_worker.runner.training.checkpoint import load
from tests.worker.runner.trainings import recorded_progress, spec_of, training_of

pytestmark = pytest.mark.old_python

HOMES = sorted((Path(__file__).parents[4] / "tests/service/upgrade/homes").glob("*-sqlite.tar.xz"))


def paused_in(archive: Path, folder: Path) -> Tuple[Dict[str, Any], str, Path]:
    """Returns the spec of the paused job in a stored home, its key, and a checkpoint.

    Checkpoints of 0.2.0 and earlier do not say whose they are: there it is the first one, of a job
    with the same network.
    """
    with tarfile.open(str(archive)) as content:
        files = {member.name: content.extractfile(member).read() for member in content}
    jobs = json.loads(files["known.json"])["jobs"]
    spec = next(job["spec"] for job in jobs if job["state"] == "paused")
    key = spec_key(upgrade(spec))
    for data in files.values():
        if data[:2] == b"PK":
            with np.load(io.BytesIO(data)) as arrays:
                is_its = "history" in arrays.files and (
                    "spec_key" not in arrays.files or str(arrays["spec_key"]) == key
                )
            if is_its:
                path = folder / "checkpoint.npz"
                path.write_bytes(data)
                return spec, key, path
    raise AssertionError("the home has no checkpoint")


@pytest.mark.parametrize("archive", HOMES, ids=lambda path: path.name.partition("-")[0])
def test_a_training_continues(archive: Path, cancellation: Cancellation, tmp_path: Path) -> None:
    spec, key, path = paused_in(archive, tmp_path)
    del spec["version"]
    training = training_of(spec_of(**spec))
    training.resume(load(path, key, like=training.state()))
    begun = training.step
    assert 0 < begun < training.schedule.steps

    def stop() -> None:
        cancellation.requested = True

    with recorded_progress(training) as (progress, _), pytest.raises(Cancelled):
        training.run(progress, cancellation, stop)
    assert training.step > begun
