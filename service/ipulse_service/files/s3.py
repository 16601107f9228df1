"""Stored files in an S3-compatible bucket; clients download them through signed URLs."""

from __future__ import annotations

import importlib.util
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO

from ipulse.install_hint import install_hint
from ipulse_core.errors import MissingDependency, Unavailable
from ipulse_service.files import file_thread_pool
from ipulse_service.files.blobs import digest_path
from ipulse_service.files.checksums import CheckedFile, WholeFileCheck, unchecked
from ipulse_service.files.partial_upload import (
    ABANDONED_SECONDS,
    PartialUpload,
    StoreTrouble,
    delete_abandoned,
    drop_upload,
    open_upload,
    resumable_bytes,
    translate_os_errors,
)

SIGNED_SECONDS = 300  # in which a download must begin
TIMEOUT_SECONDS = 10


class S3Blobs:
    """The same interface as `Blobs`, on a bucket. boto3 finds the credentials."""

    def __init__(self, bucket: str, endpoint_url: str | None, prefix: str, spool: Path) -> None:
        """Raises MissingDependency without boto3, and Unavailable for a wrong URL."""
        if importlib.util.find_spec("boto3") is None:
            raise MissingDependency(
                "an S3 store needs boto3, which is not installed: "
                + install_hint("s3", "ipulse-service")
            )
        import boto3
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError

        self.bucket = bucket
        self.prefix = prefix
        self._spool = spool
        config = Config(
            connect_timeout=TIMEOUT_SECONDS,
            read_timeout=TIMEOUT_SECONDS,
            retries={"max_attempts": 3, "mode": "standard"},
            max_pool_connections=file_thread_pool.THREADS,
            signature_version="s3v4",
            s3={"addressing_style": "path" if endpoint_url else "auto"},
        )
        try:
            self.client: Any = boto3.client("s3", endpoint_url=endpoint_url, config=config)
        except (ValueError, BotoCoreError) as error:  # no URL, no region
            raise Unavailable(
                f"cannot use the bucket {bucket} ({error}): set IPULSE_S3_ENDPOINT_URL to the URL "
                "of an S3-compatible store, or what boto3 reads for Amazon's"
            ) from error

    def prepare(self) -> None:
        """Makes the spool directory and deletes abandoned uploads. Raises StoreTrouble."""
        self._spool.mkdir(mode=0o700, parents=True, exist_ok=True)
        delete_abandoned(self._spool)
        for key in self._keys("incoming/", ABANDONED_SECONDS):
            with _explained():
                self.client.delete_object(Bucket=self.bucket, Key=key)
        with suppress(StoreTrouble), _explained():  # a key may be good for objects only
            for upload in self._abandoned():
                self.client.abort_multipart_upload(Bucket=self.bucket, **upload)

    def is_writable(self) -> bool:
        """Writes and deletes a small object: the credentials may only allow reading."""
        trial = {"Bucket": self.bucket, "Key": f"{self.prefix}incoming/{secrets.token_hex(16)}"}
        with suppress(StoreTrouble), _explained():
            self.client.put_object(**trial, Body=b"trial")
            self.client.delete_object(**trial)
            return True
        return False

    def receive(self, name: str = "") -> PartialUpload:
        """Opens a file to write; the caller closes it. With a name it can be resumed."""
        return open_upload(self._spool, name)

    def arrived(self, name: str) -> int:
        """Counts the bytes of an interrupted upload that can be resumed."""
        return resumable_bytes(self._spool / name)

    def drop(self, name: str) -> None:
        """Deletes an interrupted upload, unless a request writes it."""
        drop_upload(self._spool, name)

    def keep(self, incoming: PartialUpload) -> None:
        """Uploads a synced file to the bucket under its digest. Raises StoreTrouble.

        The caller holds the digest's lock and no transaction: a large file takes long. A file of
        more than 8 MiB is uploaded in parts, of which a bucket accepts 10,000.
        """
        with _explained():
            self.client.upload_file(str(incoming.path), self.bucket, self._key(incoming.sha256))

    def discard(self, sha256: str) -> None:
        """Deletes a file. The caller holds the digest's lock and found no row that refers to it."""
        with _explained():
            self.client.delete_object(Bucket=self.bucket, Key=self._key(sha256))

    def kept(self, older_than_seconds: float) -> Iterator[str]:
        """Yields the digests of the files that are at least this old."""
        for key in self._keys("sha256/", older_than_seconds):
            yield key.rpartition("/")[2]

    def open(self, sha256: str, start: int = 0) -> BinaryIO:
        """Opens a file at a position. Raises StoreTrouble."""
        with _explained():
            found = self.client.get_object(
                Bucket=self.bucket, Key=self._key(sha256), Range=f"bytes={start}-"
            )
        body: BinaryIO = found["Body"]
        return body

    def open_checked(self, sha256: str, size: int, start: int, stop: int) -> CheckedFile:
        """Opens a file with its check; the bucket itself checks parts of files."""
        is_whole = (start, stop) == (0, size)
        check = WholeFileCheck(sha256, size).check if is_whole else unchecked
        return CheckedFile(self.open(sha256, start), check)

    @contextmanager
    def as_file(self, sha256: str) -> Iterator[Path]:
        """Yields the path of a copy of a file. Raises StoreTrouble."""
        path = self._spool / f"copy-{secrets.token_hex(16)}"
        try:
            with _explained(), translate_os_errors():
                self.client.download_file(self.bucket, self._key(sha256), str(path))
            yield path
        finally:
            path.unlink(missing_ok=True)

    def signed_url(self, sha256: str, media_type: str, disposition: str) -> str | None:
        """Returns a URL from which a client may read the file without a token for 5 minutes."""
        params = {
            "Bucket": self.bucket,
            "Key": self._key(sha256),
            "ResponseContentType": media_type,
            "ResponseContentDisposition": disposition,
        }
        with _explained():
            url: str = self.client.generate_presigned_url(
                "get_object", Params=params, ExpiresIn=SIGNED_SECONDS
            )
        return url

    def _keys(self, folder: str, older_than_seconds: float) -> Iterator[str]:
        before = datetime.now(UTC) - timedelta(seconds=older_than_seconds)
        with _explained():
            pages = self.client.get_paginator("list_objects_v2").paginate(
                Bucket=self.bucket, Prefix=self.prefix + folder
            )
            for page in pages:
                for item in page.get("Contents", ()):
                    if item["LastModified"] <= before:
                        yield item["Key"]

    def _abandoned(self) -> Iterator[dict[str, str]]:
        """Yields multipart uploads that a killed service left; no list of objects shows them."""
        before = datetime.now(UTC) - timedelta(seconds=ABANDONED_SECONDS)
        pages = self.client.get_paginator("list_multipart_uploads").paginate(
            Bucket=self.bucket, Prefix=f"{self.prefix}sha256/"
        )
        for page in pages:
            for upload in page.get("Uploads", ()):
                if upload["Initiated"] <= before:
                    yield {"Key": upload["Key"], "UploadId": upload["UploadId"]}

    def _key(self, sha256: str) -> str:
        return f"{self.prefix}sha256/{digest_path(sha256)}"


@contextmanager
def _explained() -> Iterator[None]:
    from boto3.exceptions import Boto3Error
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except (Boto3Error, BotoCoreError, ClientError) as error:
        raise StoreTrouble(f"the artifact store fails: {error}") from error
