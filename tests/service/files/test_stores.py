"""Guarantees of both stores, the local directory and an S3 bucket."""

from __future__ import annotations

import fcntl
import hashlib
import os
import resource
from pathlib import Path
from typing import Any

import pytest

from ipulse_service.files.blobs import Blobs
from ipulse_service.files.partial_upload import StoreTrouble
from ipulse_service.files.s3 import S3Blobs
from ipulse_service.files.stored import Store

CONTENT = b"weights" * 1000
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture(params=["directory", "bucket"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    store: Store
    if request.param == "directory":
        store = Blobs(tmp_path / "artifacts")
    else:
        settings: dict[str, Any] = request.getfixturevalue("s3_settings")
        bucket, endpoint = settings["s3_bucket"], settings["s3_endpoint_url"]
        store = S3Blobs(bucket, endpoint, "ours/", tmp_path / "spool")
    store.prepare()
    return store


def keep(blobs: Store, content: bytes) -> None:
    incoming = blobs.receive()
    incoming.write(content)
    incoming.sync()
    blobs.keep(incoming)
    incoming.close()


def test_what_was_kept_is_read_from_any_byte_on(blobs: Store) -> None:
    keep(blobs, CONTENT)
    for start in (0, 1, len(CONTENT) - 1):
        with blobs.open(SHA256, start) as file:
            assert file.read() == CONTENT[start:]
    assert list(blobs.kept(0)) == [SHA256]
    assert list(blobs.kept(3600)) == []


def test_what_was_not_kept_leaves_nothing(blobs: Store) -> None:
    incoming = blobs.receive()
    incoming.write(CONTENT)
    incoming.sync()
    incoming.close()
    assert list(blobs.kept(0)) == []
    with pytest.raises(StoreTrouble):
        blobs.open(SHA256)


def test_a_file_that_became_shorter_by_itself_is_not_kept(blobs: Store) -> None:
    incoming = blobs.receive()
    incoming.write(CONTENT)
    os.truncate(incoming.path, len(CONTENT) - 1)
    with pytest.raises(StoreTrouble):
        incoming.sync()
    incoming.close()


def test_the_same_content_is_kept_once_and_discarded_twice(blobs: Store) -> None:
    keep(blobs, CONTENT)
    keep(blobs, CONTENT)
    assert list(blobs.kept(0)) == [SHA256]
    for _ in range(2):
        blobs.discard(SHA256)
        assert list(blobs.kept(0)) == []


def test_an_upload_that_broke_off_continues(blobs: Store) -> None:
    first = blobs.receive("7-upload")
    first.write(CONTENT[:100])
    first.suspend()
    assert blobs.arrived("7-upload") == 100
    second = blobs.receive("7-upload")
    assert second.size == 100
    assert blobs.arrived("7-upload") == 0, "it is gone on with already"
    second.write(CONTENT[100:])
    assert second.sha256 == SHA256
    second.sync()
    blobs.keep(second)
    second.close()
    assert blobs.arrived("7-upload") == 0
    with blobs.open(SHA256) as file:
        assert file.read() == CONTENT


def test_two_uploads_of_one_name_do_not_mix(blobs: Store) -> None:
    first, second = blobs.receive("7-upload"), blobs.receive("7-upload")
    for half in (CONTENT[:500], CONTENT[500:]):
        first.write(half)
        second.write(half)
    assert first.sha256 == second.sha256 == SHA256
    first.close()
    second.close()


@pytest.mark.parametrize("is_kept", [True, False])
def test_an_upload_that_ends_while_another_begins_is_left_alone(
    blobs: Store, monkeypatch: pytest.MonkeyPatch, is_kept: bool
) -> None:
    """The other has opened the same file, and locks it once the first has let it go."""
    first = blobs.receive("7-upload")
    first.write(CONTENT)
    first.sync()
    lock = fcntl.flock

    def lock_too_late(file: int, how: int) -> None:
        monkeypatch.setattr(fcntl, "flock", lock)
        if is_kept:
            blobs.keep(first)
        first.close()
        lock(file, how)

    monkeypatch.setattr(fcntl, "flock", lock_too_late)
    second = blobs.receive("7-upload")
    assert second.size == 0
    second.restart()
    if is_kept:
        with blobs.open(SHA256) as file:
            assert file.read() == CONTENT
    second.write(CONTENT)
    second.sync()
    blobs.keep(second)
    second.close()
    assert list(blobs.kept(0)) == [SHA256]


def test_one_that_ends_takes_no_other_of_its_name_along(blobs: Store) -> None:
    first = blobs.receive("7-upload")
    first.write(CONTENT)
    first.sync()
    blobs.keep(first)
    second = blobs.receive("7-upload")
    second.write(CONTENT)
    first.close()
    second.sync()
    blobs.keep(second)
    second.close()
    assert blobs.arrived("7-upload") == 0


def test_a_store_reports_whether_it_can_be_written(blobs: Store) -> None:
    assert blobs.is_writable()


def test_a_disk_that_takes_nothing_more_is_not_writable(tmp_path: Path) -> None:
    store = Blobs(tmp_path)
    store.prepare()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        is_writable = store.is_writable()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not is_writable
    assert store.is_writable()
    assert list((tmp_path / "incoming").iterdir()) == []
