"""An attempt on a disk without room ends as a fault of the worker, and names the path."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict

import numpy as np
import pytest

from ipulse_worker.runner.work_dir import WorkDir
from tests.worker.disks import small_disk

from .attempts import attempt

# The archive of NumPy 1.19 on Python 3.8 is closed once more when it is collected.
pytestmark = pytest.mark.filterwarnings("ignore:Exception ignored in.*ZipFile")

SPEC: Dict[str, Any] = {
    "version": 1,
    "data": {"kind": "digits", "samples": 100, "steps": 5},
    "network": {"layers": [{"neurons": 128}]},
    "training": {"epochs": 1, "batch_size": 32, "checkpoint_epochs": 1},
}


@pytest.mark.parametrize("size", ["16k", "96k", "128k", "196k"])
def test_names_the_file_that_had_no_room(tmp_path: Path, size: str, threads_are_set: None) -> None:
    """The checkpoint, the weights, the network or the report, by the size of the disk."""
    with small_disk(tmp_path / "disk", f"size={size}") as disk:
        done = attempt(disk / "work", SPEC).done
        left = [path.name for path in (disk / "work").iterdir()]
    assert done["reason"] == "worker_disk_full", done
    assert str(disk / "work") in done["message"]
    assert "are free" in done["message"]
    assert not [name for name in left if name.endswith(".unfinished")]


def test_an_array_says_which_file(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "size=16k") as disk:
        work_dir = WorkDir(disk)
        with pytest.raises(OSError, match=rf"{disk}/\.weights\.npz\.unfinished"), work_dir.writing(
            "weights.npz"
        ) as path, path.open("wb") as file:
            np.savez(file, weights=np.ones(100_000))
        assert list(disk.iterdir()) == []
