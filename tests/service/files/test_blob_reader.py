"""A download may be dropped at every moment: then no file stays open and no thread stays busy."""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections.abc import Iterator
from io import FileIO
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from ipulse_service.files.blob_reader import BlobReader
from ipulse_service.files.checksums import BLOCK_BYTES, CheckedFile, DamagedFile, WholeFileCheck
from ipulse_service.files.file_thread_pool import FileThreadPool
from ipulse_service.http.files.file_response import BlobResponse

CONTENT = b"".join(bytes([n]) * BLOCK_BYTES for n in range(3))[:-1]
SHA256 = hashlib.sha256(CONTENT).hexdigest()
STEPS = 4  # one to open it, three to read it
SCOPE = {"type": "http", "asgi": {"spec_version": "2.3"}}


class Gated(FileIO):
    """A file with a reader that waits at each step for a signal."""

    def __init__(self, path: Path) -> None:
        self.arrived = threading.Semaphore(0)
        self.admitted = threading.Semaphore(0)
        super().__init__(path)

    def open(self) -> BinaryIO:
        self._wait()
        return self

    def read(self, size: int | None = -1, /) -> bytes:
        self._wait()
        return super().read(size)

    def _wait(self) -> None:
        self.arrived.release()
        assert self.admitted.acquire(timeout=60)
        assert not self.closed, "closed under a thread that is at it"


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Gated]:
    path = tmp_path / "file"
    path.write_bytes(CONTENT)
    with Gated(path) as gated:
        yield gated


def download(file: Gated, sha256: str = SHA256) -> BlobResponse:
    check = WholeFileCheck(sha256, len(CONTENT)).check
    reader = BlobReader(lambda: CheckedFile(file.open(), check), len(CONTENT))
    return BlobResponse(reader, FileThreadPool(), 200, {})


class Client:
    """The messages of a server to an application; `gone` is when the client disconnects."""

    def __init__(self) -> None:
        self.gone = asyncio.Event()
        self.received = b""

    async def receive(self) -> dict[str, Any]:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        self.received += message.get("body", b"")


def no_thread_is_left() -> bool:
    for thread in threading.enumerate():
        if thread.name.startswith("AnyIO"):
            thread.join(60)
    return not any(thread.name.startswith("AnyIO") for thread in threading.enumerate())


@pytest.mark.parametrize("step", range(1, STEPS + 1))
@pytest.mark.parametrize("how", ["cancelled", "hung up"])
def test_a_download_that_is_dropped_leaves_nothing_open(file: Gated, step: int, how: str) -> None:
    async def drop() -> None:
        client = Client()
        running = asyncio.create_task(download(file)(SCOPE, client.receive, client.send))
        for _ in range(step - 1):
            file.admitted.release()
        for _ in range(step):
            await asyncio.to_thread(file.arrived.acquire)
        if how == "cancelled":
            running.cancel()
        else:
            client.gone.set()
        for _ in range(20):  # turns of the loop in which it may end before its thread does
            await asyncio.sleep(0)
        assert not file.closed
        file.admitted.release(2)  # the first chunk is read by who opens the file
        await asyncio.wait([running])
        assert len(client.received) < len(CONTENT)

    asyncio.run(drop())
    assert no_thread_is_left()
    assert file.closed


def test_a_download_that_never_begins_opens_nothing(file: Gated) -> None:
    download(file)
    assert not file.arrived.acquire(blocking=False)


def test_a_whole_download_is_the_content_and_closes_the_file(file: Gated) -> None:
    async def whole() -> bytes:
        client = Client()
        for _ in range(STEPS):
            file.admitted.release()
        await download(file)(SCOPE, client.receive, client.send)
        assert file.closed
        return client.received

    assert asyncio.run(whole()) == CONTENT
    assert no_thread_is_left()


def test_a_damaged_file_is_closed_and_its_last_chunk_never_sent(file: Gated) -> None:
    client = Client()

    async def damaged() -> None:
        for _ in range(STEPS):
            file.admitted.release()
        await download(file, "0" * 64)(SCOPE, client.receive, client.send)

    with pytest.raises(DamagedFile):
        asyncio.run(damaged())
    assert file.closed
    assert client.received == CONTENT[: 2 * BLOCK_BYTES]
