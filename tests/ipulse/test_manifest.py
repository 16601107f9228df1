"""The manifest is compared with the stored files."""

from __future__ import annotations

import pytest

from ipulse.manifest import check_stored
from ipulse_core.errors import InvalidInput
from ipulse_core.manifest import ListedFile, manifest_json
from ipulse_core.strict_json import dumps

WEIGHTS, METRICS, OTHER = "0a" * 32, "1b" * 32, "2c" * 32
MANIFEST = dumps(
    {
        **manifest_json(
            [
                ListedFile("weights.npz", "weights", "application/octet-stream", WEIGHTS, 7),
                ListedFile("metrics.jsonl", "metrics", "application/x-ndjson", METRICS, 0),
            ]
        ),
        "host": {"threads": 2},
    }
).encode()


def test_a_result_is_what_its_manifest_lists() -> None:
    check_stored(MANIFEST, {"weights.npz": WEIGHTS, "metrics.jsonl": METRICS})


@pytest.mark.parametrize(
    ("stored", "place"),
    [
        ({"weights.npz": OTHER, "metrics.jsonl": METRICS}, "/artifacts/0/sha256"),
        ({"weights.npz": WEIGHTS}, "/artifacts/1/sha256"),
        ({"weights.npz": WEIGHTS, "metrics.jsonl": METRICS, "a.html": OTHER}, "/artifacts"),
    ],
)
def test_a_file_that_is_another_or_in_only_one_of_the_two_is_found(
    stored: dict[str, str], place: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        check_stored(MANIFEST, stored)
    assert [problem.pointer for problem in caught.value.problems] == [place]


@pytest.mark.parametrize(
    "manifest",
    [
        b"",
        b"[]",
        b"{}",
        b'{"schema": "ipulse.manifest/2", "artifacts": []}',
        b'{"schema": "ipulse.manifest/1", "artifacts": [{"name": "../a"}]}',
        b'{"schema": "ipulse.manifest/1", "artifacts": {"a": 1}}',
    ],
)
def test_what_is_no_manifest_is_refused(manifest: bytes) -> None:
    with pytest.raises(InvalidInput):
        check_stored(manifest, {})
