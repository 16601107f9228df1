from __future__ import annotations

import hashlib
import io

import pytest

from worker.agent import outgoing
from worker.agent.outgoing import Outgoing

CONTENT = bytes(range(256)) * 3
DIGEST = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> Outgoing:
    monkeypatch.setattr(outgoing, "LARGE_BYTES", len(CONTENT))
    monkeypatch.setattr(outgoing, "CHUNK_BYTES", 100)
    return Outgoing(io.BytesIO(CONTENT), len(CONTENT))


def test_the_digest_of_a_small_file_is_announced() -> None:
    file = Outgoing(io.BytesIO(CONTENT), len(CONTENT))
    assert file.announced == {"size": len(CONTENT), "sha256": DIGEST}
    assert b"".join(file.body(0)) == CONTENT
    assert file.length(0) == len(CONTENT)


@pytest.mark.parametrize("sent", [0, 1, 3, 9])
@pytest.mark.parametrize("arrived", [0, 57, 100, 250])
def test_a_large_file_that_broke_off_goes_on_and_its_digest_is_of_all_of_it(
    large: Outgoing, sent: int, arrived: int
) -> None:
    assert large.announced.keys() == {"size", "upload"}
    chunks = large.body(0)
    before = b"".join(next(chunks) for _ in range(sent))[:arrived]
    chunks = large.body(len(before))
    rest = b"".join(chunks)
    assert before + rest == CONTENT + DIGEST.encode()
    assert large.length(len(before)) == len(rest)
