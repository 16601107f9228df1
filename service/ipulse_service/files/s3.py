"""Files by their digest in an S3-compatible store; readers are sent there with signed URLs."""

from __future__ import annotations

import importlib.util
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO

from ipulse.install_hint import install_hint
from ipulse_core.errors import MissingDependency
from ipulse_service.files import file_thread_pool
from ipulse_service.files.blobs import ABANDONED_SECONDS, digest_path
from ipulse_service.files.checksums import Checked, WholeFile, unchecked
from ipulse_service.files.partial_upload import PartialUpload, StoreTrouble, receive, resumable

SIGNED_SECONDS = 300  # for which a download may begin
TIMEOUT_SECONDS = 10


class S3Blobs:
    """The same as `Blobs`, in a bucket. Credentials are found as boto3 finds them."""

    def __init__(self, bucket: str, endpoint_url: str | None, prefix: str, spool: Path) -> None:
        """Raises MissingDependency without boto3."""
        if importlib.util.find_spec("boto3") is None:
            raise MissingDependency(
                "an S3 store needs boto3, which is not installed: "
                + install_hint("s3", "ipulse-service")
            )
        import boto3
        from botocore.config import Config

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
        self.client: Any = boto3.client("s3", endpoint_url=endpoint_url, config=config)

    def prepare(self) -> None:
        """Makes room for what arrives, and drops uploads that nobody will finish."""
        self._spool.mkdir(mode=0o700, parents=True, exist_ok=True)
        for path in self._spool.iterdir():
            with suppress(FileNotFoundError):  # it was finished at this moment
                if time.time() - path.stat().st_mtime > ABANDONED_SECONDS:
                    path.unlink()
        for key in self._keys("incoming/", ABANDONED_SECONDS):
            with _explained():
                self.client.delete_object(Bucket=self.bucket, Key=key)
        with suppress(StoreTrouble), _explained():  # a key may be good for objects only
            for upload in self._abandoned():
                self.client.abort_multipart_upload(Bucket=self.bucket, **upload)

    def is_writable(self) -> bool:
        """Writes an object and takes it away again: a key may be good for reading only."""
        trial = {"Bucket": self.bucket, "Key": f"{self.prefix}incoming/{secrets.token_hex(16)}"}
        with suppress(StoreTrouble), _explained():
            self.client.put_object(**trial, Body=b"trial")
            self.client.delete_object(**trial)
            return True
        return False

    def receive(self, name: str = "") -> PartialUpload:
        """A file to write to, and to close in the end; of a name of our own it can be resumed."""
        return receive(lambda unique: PartialUpload(self._spool / unique, is_read_next=True), name)

    def arrived(self, name: str) -> int:
        """How many bytes of a file are here and can be gone on with."""
        return resumable(self._spool / name)

    def keep(self, incoming: PartialUpload) -> None:
        """Puts a synced file to its digest, where it appears all at once or not at all.

        Called in the digest's turn, and in no transaction: it takes as long as the file is large.
        A file of more than 8 MiB goes in parts, of which a store takes 10,000.
        """
        with _explained():
            self.client.upload_file(str(incoming.path), self.bucket, self._key(incoming.sha256))

    def discard(self, sha256: str) -> None:
        """Called in the digest's turn, once no row of it was found."""
        with _explained():
            self.client.delete_object(Bucket=self.bucket, Key=self._key(sha256))

    def kept(self, older_than_seconds: float) -> Iterator[str]:
        """The digests of the files that are at least so old."""
        for key in self._keys("sha256/", older_than_seconds):
            yield key.rpartition("/")[2]

    def open(self, sha256: str, start: int = 0) -> BinaryIO:
        """The content from `start` on. Raises StoreTrouble when it cannot be read."""
        with _explained():
            found = self.client.get_object(
                Bucket=self.bucket, Key=self._key(sha256), Range=f"bytes={start}-"
            )
        body: BinaryIO = found["Body"]
        return body

    def open_checked(self, sha256: str, size: int, start: int, stop: int) -> Checked:
        """As `open`; a part is not checked here, but the store has checksums of its own."""
        is_whole = (start, stop) == (0, size)
        check = WholeFile(sha256, size).check if is_whole else unchecked
        return Checked(self.open(sha256, start), check)

    def signed_url(self, sha256: str, media_type: str, disposition: str) -> str | None:
        """Where a client may read the file without our token, for a few minutes."""
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
        """Files whose parts a service was killed over; no list of objects shows them."""
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
