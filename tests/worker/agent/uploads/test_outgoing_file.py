from __future__ import annotations

import hashlib
import io

import pytest

from ipulse import outgoing_file
from ipulse.outgoing_file import OutgoingFile

CHUNK = 2**20
CONTENT = bytes(range(256)) * (2 * CHUNK // 256) + b"and a part of a chunk"


@pytest.mark.parametrize("size", [0, 1, CHUNK, CHUNK + 1, len(CONTENT)])
def test_its_digest_is_that_of_the_first_bytes(size: int) -> None:
    file = OutgoingFile(io.BytesIO(CONTENT), size)
    assert (file.size, file.sha256) == (size, hashlib.sha256(CONTENT[:size]).hexdigest())
    assert b"".join(file.body(0)) == CONTENT[:size]


@pytest.mark.parametrize("offset", [0, 57, CHUNK - 1, CHUNK, CHUNK + 1, len(CONTENT)])
def test_its_body_continues_at_any_byte_and_any_number_of_times(offset: int) -> None:
    file = OutgoingFile(io.BytesIO(CONTENT), len(CONTENT))
    next(file.body(0))  # a try that broke off
    for _ in range(2):
        assert b"".join(file.body(offset)) == CONTENT[offset:]


def test_only_a_large_file_is_worth_asking_about(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outgoing_file, "LARGE_BYTES", CHUNK)
    sizes = (CHUNK - 1, CHUNK)
    files = [OutgoingFile(io.BytesIO(CONTENT), size) for size in sizes]
    assert [file.is_resumable for file in files] == [False, True]


def test_a_content_that_changes_keeps_the_digest_that_was_computed_first() -> None:
    content = io.BytesIO(CONTENT)
    file = OutgoingFile(content, len(CONTENT))
    content.getbuffer()[CHUNK - 1] ^= 1
    assert b"".join(file.body(0)) != CONTENT
    assert file.sha256 == hashlib.sha256(CONTENT).hexdigest()


def test_a_file_that_becomes_shorter_raises() -> None:
    content = io.BytesIO(CONTENT)
    file = OutgoingFile(content, len(CONTENT))
    body = file.body(0)
    next(body)
    content.truncate(len(CONTENT) - 1)
    with pytest.raises(OSError, match="shorter"):
        list(body)
