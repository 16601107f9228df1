"""Guarantees of both stores, the local directory and an S3 bucket."""

from __future__ import annotations

import fcntl
import hashlib
import io
import os
import resource
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from botocore.awsrequest import AWSResponse  # type: ignore[import-untyped]  # no stubs locked

from ipulse_service.files.artifacts import Store
from ipulse_service.files.blobs import Blobs
from ipulse_service.files.partial_upload import StoreTrouble
from ipulse_service.files.s3 import S3Blobs

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


def test_a_missing_bucket_is_an_error(s3_settings: dict[str, Any], tmp_path: Path) -> None:
    store = S3Blobs("nobodys-bucket", s3_settings["s3_endpoint_url"], "", tmp_path / "spool")
    assert not store.is_writable()
    with pytest.raises(StoreTrouble, match=r"NoSuchBucket|does not exist"):
        store.discard(SHA256)


@pytest.fixture
def bucket(s3_settings: dict[str, Any], tmp_path: Path) -> S3Blobs:
    store = S3Blobs(s3_settings["s3_bucket"], s3_settings["s3_endpoint_url"], "ours/", tmp_path)
    store.prepare()
    return store


def test_a_large_file_goes_to_a_bucket_in_parts(bucket: S3Blobs) -> None:
    """One request takes at most five gibibytes."""
    content = b"8 bytes." * (2**20 + 1)
    keep(bucket, content)
    sha256 = hashlib.sha256(content).hexdigest()
    with bucket.open(sha256) as file:
        assert file.read() == content
    head = bucket.client.head_object(Bucket=bucket.bucket, Key=bucket._key(sha256))
    assert head["ETag"].endswith('-2"')


def test_parts_that_a_killed_service_left_in_a_bucket_go_after_a_day(bucket: S3Blobs) -> None:
    place = {"Bucket": bucket.bucket, "Key": bucket._key(SHA256)}
    begun = bucket.client.create_multipart_upload(**place)
    part = {"UploadId": begun["UploadId"], "PartNumber": 1, "Body": CONTENT}
    bucket.client.upload_part(**place, **part)

    def left() -> int:
        return len(bucket.client.list_multipart_uploads(Bucket=bucket.bucket).get("Uploads", ()))

    def as_of_now(parsed: dict[str, Any], **_: Any) -> None:
        for upload in parsed.get("Uploads", ()):
            upload["Initiated"] = datetime.now(UTC)

    listing = "after-call.s3.ListMultipartUploads"
    bucket.client.meta.events.register(listing, as_of_now)
    bucket.prepare()
    assert left() == 1
    bucket.client.meta.events.unregister(listing, as_of_now)  # moto's are of the year 2010
    bucket.prepare()
    assert left() == 0


class Refusal(io.BytesIO):
    """The body of an S3 error, as botocore reads one."""

    def stream(self, **_: Any) -> Iterator[bytes]:
        yield self.read()


@pytest.mark.parametrize(("status", "code"), [(403, "ExpiredToken"), (503, "SlowDown")])
def test_a_refusing_bucket_is_an_error_and_a_short_failure_is_not(
    s3_settings: dict[str, Any], tmp_path: Path, status: int, code: str
) -> None:
    store = S3Blobs(s3_settings["s3_bucket"], s3_settings["s3_endpoint_url"], "", tmp_path / "s")
    store.prepare()
    keep(store, CONTENT)
    left = 1 if status == 503 else 100

    def refuse(request: Any, **_: Any) -> AWSResponse | None:
        nonlocal left
        left -= 1
        body = f"<Error><Code>{code}</Code><Message>no</Message></Error>".encode()
        return AWSResponse(request.url, status, {}, Refusal(body)) if left >= 0 else None

    store.client.meta.events.register("before-send.s3", refuse)
    if status == 503:
        with store.open(SHA256) as file:  # which it has asked for twice
            assert file.read() == CONTENT
        assert left < 0
    else:
        assert not store.is_writable()
        for ask in (store.open, store.discard):
            with pytest.raises(StoreTrouble, match=code):
                ask(SHA256)
