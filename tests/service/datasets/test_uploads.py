"""Uploading a file in pieces, again, and wrongly."""

from __future__ import annotations

import hashlib
import secrets
from pathlib import Path

from tests.service.datasets.files import spikes
from tests.service.datasets.uploading import announce, check_refused, push, send, upload
from tests.service.running import InProcess


def stored(service: InProcess, content: bytes) -> Path:
    sha256 = hashlib.sha256(content).hexdigest()
    return service.settings.artifacts_dir / "sha256" / sha256[:2] / sha256


def test_resumes_where_it_was_cut(service: InProcess) -> None:
    content = secrets.token_bytes(3_000_000)
    first = announce(service, content)
    assert first.status_code == 201
    assert first.headers["upload-offset"] == "0"
    place = first.headers["location"]
    assert send(service, first.json()["id"], content[:1_000_001]).status_code == 204
    again = announce(service, content)  # what a client does that knows nothing any more
    assert again.status_code == 200
    assert (again.json()["id"], again.json()["offset"]) == (first.json()["id"], 1_000_001)
    assert service.user.head(place).headers["upload-offset"] == "1000001"
    last = send(service, first.json()["id"], content[1_000_001:], 1_000_001)
    assert last.headers["upload-offset"] == "3000000"
    assert service.user.get(place).json()["complete"] is True
    assert stored(service, content).read_bytes() == content


def test_bytes_that_a_data_set_has_are_not_sent_again(service: InProcess) -> None:
    content = spikes(seed=secrets.randbelow(2**31))
    push(service, content)
    again = announce(service, content)
    assert again.status_code == 200
    assert again.json()["complete"] is True


def test_n24_a_digest_alone_gives_nothing(service: InProcess) -> None:
    """Files of others, such as artifacts, are not readable for who knows their digest."""
    content = secrets.token_bytes(1000)
    upload(service, content)  # complete, but of no data set
    with service.client(service.settings.token_file) as client:
        token = client.post("/v1/tokens", json={"name": "x", "role": "user", "seconds": 600})
        client.headers["authorization"] = f"Bearer {token.json()['token']}"
        body = {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        other = client.post("/v1/uploads", json=body)
        assert other.status_code == 201
        assert other.json()["offset"] == 0


def test_wrong_content_is_dropped(service: InProcess) -> None:
    content = secrets.token_bytes(2000)
    upload_id = announce(service, content).json()["id"]
    wrong = send(service, upload_id, content[:-1] + bytes([content[-1] ^ 1]))
    check_refused(wrong, 422, "wrong_content", "/body/sha256")
    assert service.user.get(f"/v1/uploads/{upload_id}").json()["offset"] == 0
    check_refused(send(service, upload_id, content + b"?"), 422, "wrong_content", "/body/size")
    assert not stored(service, content).exists()
    assert send(service, upload_id, content).status_code == 204


def test_a_wrong_offset_is_refused(service: InProcess) -> None:
    content = secrets.token_bytes(2000)
    upload_id = announce(service, content).json()["id"]
    send(service, upload_id, content[:500])
    check_refused(send(service, upload_id, content[700:], 700), 409, "wrong_offset")
    assert service.user.get(f"/v1/uploads/{upload_id}").json()["offset"] == 500


def test_impossible_announcements_are_refused(service: InProcess) -> None:
    for size, status, code in (
        (0, 422, "invalid_input"),
        (2**63, 422, "invalid_input"),
        (2**52, 413, "too_large"),
    ):
        body = {"size": size, "sha256": "0" * 64}
        check_refused(service.user.post("/v1/uploads", json=body), status, code)
    body = {"size": 5, "sha256": "../../etc/passwd"}
    check_refused(service.user.post("/v1/uploads", json=body), 422, "invalid_input", "/sha256")
    check_refused(service.user.get("/v1/uploads/..%2f..%2ftoken"), 404, "not_found")


def test_one_caller_may_have_few_unfinished_ones(service: InProcess) -> None:
    begun = []
    while (response := announce(service, secrets.token_bytes(100))).status_code == 201:
        begun.append(response.json()["id"])
        assert len(begun) <= 8
    check_refused(response, 409, "too_many_uploads")
    for upload_id in begun:
        assert service.user.delete(f"/v1/uploads/{upload_id}").status_code == 204
    assert announce(service, secrets.token_bytes(100)).status_code == 201


def test_a_deleted_upload_leaves_no_file(service: InProcess) -> None:
    part, whole = secrets.token_bytes(5000), secrets.token_bytes(500)
    upload_id = announce(service, part).json()["id"]
    send(service, upload_id, part[:2000])
    assert service.user.delete(f"/v1/uploads/{upload_id}").status_code == 204
    assert not (service.settings.artifacts_dir / "incoming" / upload_id).exists()
    upload_id = upload(service, whole)
    assert stored(service, whole).exists()
    assert service.user.delete(f"/v1/uploads/{upload_id}").status_code == 204
    assert not stored(service, whole).exists()
    check_refused(service.user.get(f"/v1/uploads/{upload_id}"), 404, "not_found")
