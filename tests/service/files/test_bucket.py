"""A bucket of S3 as the store of files."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from botocore.awsrequest import AWSResponse  # type: ignore[import-untyped]  # no stubs locked

from ipulse_service.files.partial_upload import StoreTrouble
from ipulse_service.files.s3 import S3Blobs
from tests.service.files.test_stores import CONTENT, SHA256, keep


def test_a_missing_bucket_is_an_error(s3_settings: dict[str, Any], tmp_path: Path) -> None:
    store = S3Blobs("nobodys-bucket", s3_settings["s3_endpoint_url"], "", tmp_path / "spool")
    assert not store.is_writable()
    with pytest.raises(StoreTrouble, match=r"NoSuchBucket|does not exist"):
        store.discard(SHA256)


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
