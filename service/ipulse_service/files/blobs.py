"""Files by the SHA-256 of their content. No path is ever made from what a client sends."""

from __future__ import annotations

import os
import re
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from ipulse_core.blocks import BLOCK_BYTES
from ipulse_service.files.checksums import Blocks, Checked, Checksums, DamagedFile, WholeFile
from ipulse_service.files.partial_upload import (
    PartialUpload,
    receive,
    resumable,
    translate_os_errors,
)

_DIGEST = re.compile(r"[0-9a-f]{64}")
TRIAL_BYTES = 4096
KNOWN_FILES = 10_000  # whose blocks are remembered, each in four bytes
ABANDONED_SECONDS = 86_400  # an upload this old is nobody's any more


class Blobs:
    """A directory of such files, two hundred and fifty-six folders wide."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._incoming = root / "incoming"  # the same file system, so that a rename is atomic
        self._kept = root / "sha256"
        self._blocks: dict[str, Sequence[int]] = {}

    def prepare(self) -> None:
        """Makes the directories and drops uploads that nobody will finish."""
        with translate_os_errors():
            for folder in (self._incoming, self._kept):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            for path in self._incoming.iterdir():
                with suppress(FileNotFoundError):  # it was finished at this moment
                    if time.time() - path.stat().st_mtime > ABANDONED_SECONDS:
                        path.unlink()

    def is_writable(self) -> bool:
        """Writes a little and takes it away again: a disk may be full, or read-only by now."""
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
        """A file to write to, and to close in the end; of a name of our own it can be resumed."""
        return receive(lambda unique: PartialUpload(self._incoming / unique), name)

    def arrived(self, name: str) -> int:
        """How many bytes of a file are here and can be gone on with."""
        return resumable(self._incoming / name)

    def keep(self, incoming: PartialUpload) -> None:
        """Makes a synced file visible under its digest, durably.

        Called in the digest's turn, in which its row is added then: no `discard` can come
        between the two.
        """
        path = self._path(incoming.sha256)
        with translate_os_errors():
            if not path.parent.is_dir():
                path.parent.mkdir(mode=0o700, exist_ok=True)
                _sync_directory(self._kept)
            os.replace(incoming.path, path)
            _sync_directory(path.parent)
        self._learn(incoming.checksums)

    def discard(self, sha256: str) -> None:
        """Called in the digest's turn, once no row of it was found."""
        with translate_os_errors():
            self._path(sha256).unlink(missing_ok=True)

    def kept(self, older_than_seconds: float) -> Iterator[str]:
        """The digests of the files that are at least so old."""
        for path in self._kept.glob("??/*"):
            with suppress(FileNotFoundError):  # discarded meanwhile
                if time.time() - path.stat().st_mtime >= older_than_seconds:
                    yield path.name

    def open(self, sha256: str, start: int = 0) -> BinaryIO:
        """The content from `start` on. Raises StoreTrouble when it cannot be read."""
        with translate_os_errors():
            file = self._path(sha256).open("rb")  # buffered, so that a block is read whole
            file.seek(start)
            return file

    def open_checked(self, sha256: str, size: int, start: int, stop: int) -> Checked:
        """As `open`, with what its chunks have to pass. Of a file whose blocks are not known, a
        part is open once all of it has been read.

        Raises DamagedFile, or StoreTrouble when it cannot be read.
        """
        known = self._blocks.get(sha256)
        if known is None and (start, stop) == (0, size):
            return Checked(self.open(sha256), WholeFile(sha256, size, self._learn).check)
        if known is None:
            known = self._verify(sha256)
        first, skip = divmod(start, BLOCK_BYTES)
        return Checked(self.open(sha256, start - skip), Blocks(known, first).check, skip)

    def signed_url(self, _sha256: str, _media_type: str, _disposition: str) -> str | None:
        """None: the files are here and nowhere else."""
        return None

    def _verify(self, sha256: str) -> Sequence[int]:
        """Reads all of a file; returns what its blocks are checked with."""
        checksums = Checksums()
        with self.open(sha256) as file, translate_os_errors():
            while chunk := file.read(BLOCK_BYTES):
                checksums.update(chunk)
        if checksums.sha256 != sha256:
            raise DamagedFile(f"the stored file {sha256} has other content")
        self._learn(checksums)
        return checksums.blocks

    def _learn(self, checksums: Checksums) -> None:
        """Of a file that is right. It holds for ever: whatever has that digest has these blocks."""
        if len(self._blocks) >= KNOWN_FILES:
            self._blocks.clear()
        self._blocks[checksums.sha256] = checksums.blocks

    def _path(self, sha256: str) -> Path:
        return self._kept / digest_path(sha256)


def digest_path(sha256: str) -> str:
    """The name of a file below the store's root. Raises ValueError for what is no digest."""
    if not _DIGEST.fullmatch(sha256):
        raise ValueError(f"not a SHA-256 digest: {sha256!r}")
    return f"{sha256[:2]}/{sha256}"


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
