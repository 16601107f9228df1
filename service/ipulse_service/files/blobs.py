"""Stored files, named by the SHA-256 of their content: no client chooses a path."""

from __future__ import annotations

import os
import re
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from ipulse_core.worker_faults import errors_name
from ipulse_service.files.checksums import (
    BLOCK_BYTES,
    BlockCheck,
    CheckedFile,
    Checksums,
    DamagedFile,
    WholeFileCheck,
)
from ipulse_service.files.partial_upload import (
    PartialUpload,
    delete_abandoned,
    drop_upload,
    open_upload,
    resumable_bytes,
    translate_os_errors,
)

_DIGEST = re.compile(r"[0-9a-f]{64}")
TRIAL_BYTES = 4096
KNOWN_FILES = 10_000  # files with block checksums in memory, 4 bytes a block


class Blobs:
    """A directory of stored files in 256 folders."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._incoming = root / "incoming"  # the same file system, so that a rename is atomic
        self._kept = root / "sha256"
        self._blocks: dict[str, Sequence[int]] = {}

    def prepare(self) -> None:
        """Makes the directories and deletes abandoned uploads. Raises StoreTrouble."""
        with translate_os_errors():
            for folder in (self._incoming, self._kept):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            delete_abandoned(self._incoming)

    def is_writable(self) -> bool:
        """Writes and deletes a small file: the disk may be full or read-only."""
        trial = self._incoming / f"trial-{secrets.token_hex(8)}"
        try:
            trial.write_bytes(bytes(TRIAL_BYTES))
        except OSError:
            return False
        finally:
            with suppress(OSError):
                trial.unlink(missing_ok=True)
        return os.access(self._kept, os.W_OK)

    def receive(self, name: str = "") -> PartialUpload:
        """Opens a file to write; the caller closes it. With a name it can be resumed."""
        return open_upload(self._incoming, name)

    def arrived(self, name: str) -> int:
        """Counts the bytes of an interrupted upload that can be resumed."""
        return resumable_bytes(self._incoming / name)

    def drop(self, name: str) -> None:
        """Deletes an interrupted upload, unless a request writes it."""
        drop_upload(self._incoming, name)

    def keep(self, incoming: PartialUpload) -> None:
        """Makes a synced file visible under its digest, durably. Raises StoreTrouble.

        The caller holds the digest's lock until the row is added: no `discard` comes between.
        """
        path = self._path(incoming.sha256)
        with translate_os_errors():
            if not path.parent.is_dir():
                path.parent.mkdir(mode=0o700, exist_ok=True)
                _sync_directory(self._kept)
            os.replace(incoming.path, path)
            _sync_directory(path.parent)
        self._remember(incoming.checksums)

    def discard(self, sha256: str) -> None:
        """Deletes a file. The caller holds the digest's lock and found no row that refers to it."""
        with translate_os_errors():
            self._path(sha256).unlink(missing_ok=True)

    def kept(self, older_than_seconds: float) -> Iterator[str]:
        """Yields the digests of the files that are at least this old."""
        for path in self._kept.glob("??/*"):
            with suppress(FileNotFoundError):  # discarded meanwhile
                if time.time() - path.stat().st_mtime >= older_than_seconds:
                    yield path.name

    def open(self, sha256: str, start: int = 0) -> BinaryIO:
        """Opens a file at a position. Raises StoreTrouble."""
        with translate_os_errors():
            file = self._path(sha256).open("rb")  # buffered, so that a block is read whole
            file.seek(start)
            return file

    def open_checked(self, sha256: str, size: int, start: int, stop: int) -> CheckedFile:
        """Opens the bytes from `start` to `stop` with the check that its blocks must pass.

        If the block checksums of the file are not known, a part is opened only after the whole
        file has been read and verified. Raises DamagedFile or StoreTrouble.
        """
        known = self._blocks.get(sha256)
        if known is None and (start, stop) == (0, size):
            return CheckedFile(
                self.open(sha256), WholeFileCheck(sha256, size, self._remember).check
            )
        if known is None:
            known = self._verify(sha256)
        first, skip = divmod(start, BLOCK_BYTES)
        return CheckedFile(self.open(sha256, start - skip), BlockCheck(known, first).check, skip)

    @contextmanager
    def as_file(self, sha256: str) -> Iterator[Path]:
        """Yields the path of a file for another process to read. Raises StoreTrouble."""
        path = self._path(sha256)
        with translate_os_errors():
            path.stat()
        yield path

    def signed_url(self, _sha256: str, _media_type: str, _disposition: str) -> str | None:
        """Returns None: local files have no URL of their own."""
        return None

    def _verify(self, sha256: str) -> Sequence[int]:
        """Reads and verifies a whole file; returns the checksums of its blocks."""
        checksums = Checksums()
        with self.open(sha256) as file, translate_os_errors():
            while chunk := file.read(BLOCK_BYTES):
                checksums.update(chunk)
        if checksums.sha256 != sha256:
            raise DamagedFile(f"the content of the stored file {sha256} has changed")
        self._remember(checksums)
        return checksums.blocks

    def _remember(self, checksums: Checksums) -> None:
        """Keeps the block checksums of an undamaged file; they hold for any file of that digest."""
        if len(self._blocks) >= KNOWN_FILES:
            self._blocks.clear()
        self._blocks[checksums.sha256] = checksums.blocks

    def _path(self, sha256: str) -> Path:
        return self._kept / digest_path(sha256)


def digest_path(sha256: str) -> str:
    """Returns the path of a file below the store's root. Raises ValueError for another text."""
    if not _DIGEST.fullmatch(sha256):
        raise ValueError(f"not a SHA-256 digest: {sha256!r}")
    return f"{sha256[:2]}/{sha256}"


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with errors_name(path):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
