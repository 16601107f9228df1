from __future__ import annotations

import hashlib
import io
import zlib

import pytest

from ipulse_core import blocks
from ipulse_core.blocks import BLOCK_BYTES
from ipulse_worker.agent.uploads import outgoing_file as outgoing
from ipulse_worker.agent.uploads.outgoing_file import Outgoing

CONTENT = bytes(range(256)) * (2 * BLOCK_BYTES // 256) + b"and a part of a block"


@pytest.fixture
def file(monkeypatch: pytest.MonkeyPatch) -> io.BytesIO:
    monkeypatch.setattr(outgoing, "LARGE_BYTES", 0)
    return io.BytesIO(CONTENT)


def checksums(content: bytes) -> bytes:
    begins = range(0, len(content), BLOCK_BYTES)
    return blocks.packed([zlib.crc32(content[n : n + BLOCK_BYTES]) for n in begins])


def test_the_digest_of_a_small_file_is_announced() -> None:
    file = Outgoing(io.BytesIO(CONTENT), len(CONTENT))
    digest = hashlib.sha256(CONTENT).hexdigest()
    assert file.announced == {"size": len(CONTENT), "sha256": digest}
    assert b"".join(file.body(0)) == CONTENT
    assert file.length(0) == len(CONTENT)


@pytest.mark.parametrize("size", [0, 1, BLOCK_BYTES, BLOCK_BYTES + 1, 2 * BLOCK_BYTES - 1])
def test_the_checksums_of_a_large_one_follow_it(file: io.BytesIO, size: int) -> None:
    large = Outgoing(file, size)
    assert large.announced.keys() == {"size", "upload"}
    body = b"".join(large.body(0))
    assert body == CONTENT[:size] + checksums(CONTENT[:size])
    assert large.length(0) == len(body)


@pytest.mark.parametrize(
    ("sent", "arrived"),
    [
        (1, 0),
        (1, 57),
        (2, BLOCK_BYTES - 1),
        (2, BLOCK_BYTES),
        (3, BLOCK_BYTES + 1),
        (4, len(CONTENT)),
    ],
)
def test_one_that_broke_off_goes_on_and_the_checksums_are_of_all_of_it(
    file: io.BytesIO, sent: int, arrived: int
) -> None:
    large = Outgoing(file, len(CONTENT))
    chunks = large.body(0)
    before = b"".join(next(chunks) for _ in range(sent))[:arrived]
    rest = b"".join(large.body(arrived))
    assert before + rest == CONTENT + checksums(CONTENT)
    assert large.length(arrived) == len(rest)


def test_what_changes_before_it_is_sent_again_is_not_what_the_checksums_are_of(
    file: io.BytesIO,
) -> None:
    large = Outgoing(file, len(CONTENT))
    before = next(large.body(0))[:7]
    file.getbuffer()[BLOCK_BYTES - 1] ^= 1
    body = before + b"".join(large.body(7))
    assert body[: len(CONTENT)] != CONTENT
    assert body[len(CONTENT) :] == checksums(CONTENT)


def test_one_that_becomes_shorter_breaks_off(file: io.BytesIO) -> None:
    large = Outgoing(file, len(CONTENT))
    body = large.body(0)
    next(body)
    file.truncate(len(CONTENT) - 1)
    with pytest.raises(OSError, match="shorter"):
        list(body)
