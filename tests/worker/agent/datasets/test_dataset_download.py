"""The uploaded data set of a job is there for its runner, also after a disk was full."""

from __future__ import annotations

import errno
import hashlib
import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from ipulse_core.data_sets import UPLOADED_FOLDER
from ipulse_worker.agent.datasets import dataset_download
from ipulse_worker.agent.datasets.dataset_cache import DatasetCache
from ipulse_worker.agent.datasets.dataset_download import DatasetNotDownloaded, dataset_linked
from ipulse_worker.agent.lease import AttemptLease
from ipulse_worker.agent.service_types import ClaimedJob


class Downloads:
    """A service with one archive."""

    def __init__(self) -> None:
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w") as archive:
            for name in ("Train/0/a.bin", "Test/0/b.bin"):
                archive.writestr(name, name)
        self.content = content.getvalue()
        self.count = 0

    def download_dataset(
        self, lease: AttemptLease, into: BinaryIO, on_chunk: Callable[[], None]
    ) -> None:
        self.count += 1
        into.write(self.content)

    def linked(self, folder: Path, sha256: str) -> Any:
        """Link the data set into `folder` as for a job."""
        claim = ClaimedJob(
            job_id="job_1",
            attempt=1,
            spec={"data": {"kind": "n_mnist", "dataset": f"sha256:{sha256}"}},
            checkpoint=None,
            lease=AttemptLease("att_1", "fence", 100.0, 0.0, lambda: 0.0),
            heartbeat_seconds=1.0,
        )
        service: Any = self
        cache = DatasetCache(folder / "cache", 2**20)
        return dataset_linked(
            service, claim, cache, folder, lambda: None, claim.lease.wait_for_loss
        )


def test_a_full_disk_is_emptied_and_the_download_begins_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = Downloads()
    unpack = dataset_download.unpack

    def fill_the_disk(path: Path, folder: Path) -> None:
        unpack(path, folder)
        monkeypatch.setattr(dataset_download, "unpack", unpack)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(dataset_download, "unpack", fill_the_disk)
    with service.linked(tmp_path, hashlib.sha256(service.content).hexdigest()):
        there = tmp_path / UPLOADED_FOLDER
        assert sorted(path.name for path in there.rglob("*.bin")) == ["a.bin", "b.bin"]
        assert not (there / "download").exists()
    assert service.count == 2


def test_other_content_is_refused(tmp_path: Path) -> None:
    linked = Downloads().linked(tmp_path, "0" * 64)
    with pytest.raises(DatasetNotDownloaded, match="digest"), linked:
        pass
    assert not (tmp_path / UPLOADED_FOLDER).exists()
