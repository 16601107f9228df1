from __future__ import annotations

import hashlib
import io
import itertools
import os
import resource
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ipulse_service.files.blob_reader import BlobReader
from ipulse_service.files.blobs import Blobs
from ipulse_service.files.checksums import BLOCK_BYTES, DamagedFile
from ipulse_service.files.partial_upload import StoreTrouble

CONTENT = b"weights"
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def blobs(tmp_path: Path) -> Blobs:
    blobs = Blobs(tmp_path / "artifacts")
    blobs.prepare()
    return blobs


def files(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


def keep(blobs: Blobs, content: bytes) -> None:
    incoming = blobs.receive()
    incoming.write(content)
    incoming.sync()
    blobs.keep(incoming)
    incoming.close()


def test_a_kept_file_is_found_by_its_digest_and_by_nothing_else(
    blobs: Blobs, tmp_path: Path
) -> None:
    keep(blobs, CONTENT)
    assert files(tmp_path / "artifacts") == [f"sha256/{SHA256[:2]}/{SHA256}"]
    with blobs.open(SHA256) as file:
        assert file.read() == CONTENT


def test_content_and_name_are_synced_before_the_upload_is_confirmed(
    blobs: Blobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(blobs, b"another, so that the folder is there: " + CONTENT)
    done = []
    fsync, replace = os.fsync, os.replace

    def noted_fsync(descriptor: int) -> None:
        fsync(descriptor)
        done.append(f"fsync {Path(os.readlink(f'/proc/self/fd/{descriptor}')).parent.name}")

    def noted_replace(source: Path, target: Path) -> None:
        replace(source, target)
        done.append("replace")

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "replace", noted_replace)
    keep(blobs, CONTENT)
    # The file, the folder in its parent, the new name of the file, and the name in its folder.
    assert done == ["fsync incoming", "fsync artifacts", "replace", "fsync sha256"]


def test_the_same_content_is_stored_once(blobs: Blobs, tmp_path: Path) -> None:
    keep(blobs, CONTENT)
    keep(blobs, CONTENT)
    assert len(files(tmp_path)) == 1


def test_a_file_that_was_not_kept_leaves_nothing(blobs: Blobs, tmp_path: Path) -> None:
    incoming = blobs.receive()
    incoming.write(CONTENT)
    incoming.close()
    assert files(tmp_path) == []


def test_a_discarded_file_stays_readable_for_open_readers(blobs: Blobs) -> None:
    keep(blobs, CONTENT)
    with blobs.open(SHA256) as file:
        blobs.discard(SHA256)
        assert file.read() == CONTENT
    with pytest.raises(StoreTrouble, match="No such file"):
        blobs.open(SHA256)


@pytest.mark.parametrize("name", ["../../etc/passwd", "", SHA256.upper(), SHA256 + "/.."])
def test_what_is_no_digest_never_becomes_a_path(blobs: Blobs, name: str) -> None:
    with pytest.raises(ValueError, match="not a SHA-256"):
        blobs.open(name)


def test_only_abandoned_uploads_are_cleared_away(blobs: Blobs, tmp_path: Path) -> None:
    incoming = tmp_path / "artifacts" / "incoming"
    old, young = incoming / "old", incoming / "young"
    for path in (old, young):
        path.write_bytes(CONTENT)
    long_ago = time.time() - 2 * 86_400
    os.utime(old, (long_ago, long_ago))
    blobs.prepare()
    assert files(incoming) == ["young"]


def test_an_upload_in_progress_stays_though_the_clock_was_set(blobs: Blobs) -> None:
    upload = blobs.receive("name")
    upload.write(CONTENT)
    long_ago = time.time() - 10 * 365 * 86_400
    os.utime(upload.path, (long_ago, long_ago))
    blobs.prepare()
    upload.sync()
    blobs.keep(upload)
    upload.close()
    with blobs.open(SHA256) as file:
        assert file.read() == CONTENT


def test_a_full_disk_is_an_error_of_the_store_with_a_hint(blobs: Blobs) -> None:
    full = blobs.receive()
    full.close()
    full._file = open("/dev/full", "wb", buffering=0)  # noqa: SIM115 - stands for a file on a full disk
    with pytest.raises(StoreTrouble, match="free some space"):
        full.write(CONTENT)
    full.close()


LARGE = b"".join(bytes([n]) * BLOCK_BYTES for n in range(3))[: -BLOCK_BYTES // 2]
LARGE_SHA256 = hashlib.sha256(LARGE).hexdigest()


@pytest.fixture(params=["as it was received", "after a restart"])
def large(request: pytest.FixtureRequest, blobs: Blobs, tmp_path: Path) -> Blobs:
    """A store with a file of two blocks and a half."""
    incoming = blobs.receive()
    begin = 0
    for end in (1, BLOCK_BYTES - 1, 2 * BLOCK_BYTES + 7, len(LARGE)):
        incoming.write(LARGE[begin:end])
        begin = end
    incoming.sync()
    blobs.keep(incoming)
    incoming.close()
    return blobs if request.param == "as it was received" else Blobs(tmp_path / "artifacts")


def read(blobs: Blobs, start: int, stop: int) -> Iterator[bytes]:
    reader = BlobReader(
        lambda: blobs.open_checked(LARGE_SHA256, len(LARGE), start, stop), stop - start
    )
    try:
        yield reader.begin()
        while chunk := reader.read():
            yield chunk
    finally:
        reader.close()


def test_every_part_of_a_file_is_read_as_it_is(large: Blobs) -> None:
    edges = (0, 1, BLOCK_BYTES - 1, BLOCK_BYTES, BLOCK_BYTES + 1, 2 * BLOCK_BYTES, len(LARGE))
    for start, stop in itertools.combinations(edges, 2):
        assert b"".join(read(large, start, stop)) == LARGE[start:stop], (start, stop)


class ShortOfBreath(io.FileIO):
    """A file on a file system that reads less at once than it is asked for."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(1000)

    def readinto(self, buffer: Any, /) -> int:
        return super().readinto(memoryview(buffer)[: BLOCK_BYTES // 3])


def test_a_read_that_gives_less_than_a_block_is_no_damage(
    large: Blobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    def opened(path: Path, mode: str = "r", buffering: int = -1, *_: Any) -> io.IOBase:
        raw = ShortOfBreath(path, mode)
        return raw if buffering == 0 else io.BufferedReader(raw)

    monkeypatch.setattr(io, "open", opened)
    for start in (0, BLOCK_BYTES + 1):
        assert b"".join(read(large, start, len(LARGE))) == LARGE[start:]


@pytest.mark.parametrize("damage", ["changed", "short", "empty"])
def test_nothing_damaged_is_read(large: Blobs, tmp_path: Path, damage: str) -> None:
    place = 2 * BLOCK_BYTES + 5
    changed = LARGE[:place] + b"!" + LARGE[place + 1 :]
    damaged = {"changed": changed, "short": LARGE[:-1], "empty": b""}[damage]
    next(tmp_path.rglob(LARGE_SHA256)).write_bytes(damaged)
    for start in (2 * BLOCK_BYTES, len(LARGE) - 1, 0):
        received: list[bytes] = []
        with pytest.raises(DamagedFile):
            received.extend(read(large, start, len(LARGE)))
        assert LARGE[start:].startswith(b"".join(received))
        assert sum(map(len, received)) < len(LARGE) - start


def test_the_log_of_a_failed_write_names_the_file(blobs: Blobs) -> None:
    incoming = blobs.receive()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, limits[1]))  # as a full disk
    try:
        with pytest.raises(StoreTrouble) as raised:
            incoming.write(bytes(100_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        incoming.close()
    assert isinstance(raised.value.__cause__, OSError)
    assert raised.value.__cause__.filename == str(incoming.path)
    assert str(incoming.path) not in raised.value.message  # which clients receive
