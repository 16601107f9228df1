"""Files of jobs are sent whole, in ranges, and never damaged."""

from __future__ import annotations

import base64
import hashlib
import os
from typing import NamedTuple

import httpx
import pytest

from ipulse_service.files.checksums import BLOCK_BYTES
from tests.service.agents import Attempt
from tests.service.http.routes.test_artifacts import CONTENT
from tests.service.http.routes.test_submission import check_problem
from tests.service.running import InProcess

SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Stored(NamedTuple):
    attempt: Attempt
    path: str


@pytest.fixture(scope="module")
def stored(service: InProcess) -> Stored:
    """A large file of an attempt that is in progress."""
    attempt = service.attempt(service.submit()["id"])
    response = attempt.put("weights.npz", "weights", CONTENT, {"media_type": "application/zip"})
    assert response.status_code == 201
    job_id = attempt.claim["job_id"]
    return Stored(attempt, f"/v1/jobs/{job_id}/artifacts/{response.json()['artifact_id']}/content")


@pytest.mark.parametrize("asked", [{}, {"range": "bytes=-5"}])
def test_a_damaged_file_is_never_handed_out(service: InProcess, asked: dict[str, str]) -> None:
    """Also one that was whole when it was read before."""
    job_id = service.submit()["id"]
    content = f"one bit of this will be lost after a while {asked}".encode()
    service.attempt(job_id).put("w", "weights", content)
    [listed] = service.user.get(f"/v1/jobs/{job_id}/artifacts").json()["artifacts"]
    place = f"/v1/jobs/{job_id}/artifacts/{listed['id']}/content"
    assert content.endswith(service.user.get(place, headers=asked).content)
    sha256 = hashlib.sha256(content).hexdigest()
    path = service.settings.artifacts_dir / "sha256" / sha256[:2] / sha256
    path.write_bytes(b"O" + content[1:])
    refused = service.user.get(place, headers=asked)
    assert check_problem(refused, 500)["code"] == "damaged_file"


def test_a_large_file_breaks_off_before_what_is_damaged(service: InProcess) -> None:
    job_id = service.submit()["id"]
    content = os.urandom(3 * BLOCK_BYTES)
    service.attempt(job_id).put("w", "weights", content)
    [listed] = service.user.get(f"/v1/jobs/{job_id}/artifacts").json()["artifacts"]
    place = f"/v1/jobs/{job_id}/artifacts/{listed['id']}/content"
    path = next(service.settings.artifacts_dir.rglob(listed["sha256"]))
    path.write_bytes(content[: 2 * BLOCK_BYTES] + bytes(BLOCK_BYTES))
    with pytest.raises(httpx.RemoteProtocolError):
        service.user.get(place)
    whole = {"range": f"bytes=1-{2 * BLOCK_BYTES - 1}"}
    assert service.user.get(place, headers=whole).content == content[1 : 2 * BLOCK_BYTES]


class TestDownload:
    def test_the_whole_file_cannot_be_mistaken_for_a_page(
        self, service: InProcess, stored: Stored
    ) -> None:
        response = service.user.get(stored.path)
        assert response.status_code == 200
        assert response.content == CONTENT
        headers = response.headers
        assert headers["etag"] == f'"{SHA256}"'
        assert headers["content-length"] == str(len(CONTENT))
        assert headers["content-type"] == "application/zip"
        assert headers["content-disposition"] == 'attachment; filename="weights.npz"'
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["accept-ranges"] == "bytes"
        digest = base64.b64encode(bytes.fromhex(SHA256)).decode()
        assert headers["repr-digest"] == f"sha-256=:{digest}:"

    def test_a_worker_may_download_too(self, service: InProcess, stored: Stored) -> None:
        assert service.worker.get(stored.path).content == CONTENT

    def test_head_returns_the_headers_without_the_content(
        self, service: InProcess, stored: Stored
    ) -> None:
        head, get = service.user.head(stored.path), service.user.get(stored.path)
        assert head.status_code == 200
        assert head.content == b""
        for name in ("content-length", "etag", "content-type", "content-disposition"):
            assert head.headers[name] == get.headers[name]

    def test_several_ranges_are_the_whole_file(self, service: InProcess, stored: Stored) -> None:
        response = service.user.get(stored.path, headers={"range": "bytes=0-0,5-9"})
        assert (response.status_code, response.content) == (200, CONTENT)

    def test_if_match(self, service: InProcess, stored: Stored) -> None:
        tag = f'"{SHA256}"'
        for condition, status in ((tag, 200), ("*", 200), (f'"x", {tag}', 200), ('"x"', 412)):
            headers = {"if-match": condition, "range": "bytes=0-0"}
            response = service.user.get(stored.path, headers=headers)
            assert response.status_code == (206 if status == 200 else status), condition
            head = service.user.head(stored.path, headers={"if-match": condition})
            assert head.status_code == status, condition
        headers = {"if-match": '"x"', "if-none-match": tag}
        assert check_problem(service.user.get(stored.path, headers=headers), 412)

    @pytest.mark.parametrize(
        ("header", "start", "stop"),
        [
            ("bytes=0-0", 0, 1),
            ("bytes=100-299999", 100, 300_000),
            ("bytes=-3", len(CONTENT) - 3, len(CONTENT)),
            (f"bytes={len(CONTENT) - 1}-", len(CONTENT) - 1, len(CONTENT)),
            ("bytes=5-99999999999", 5, len(CONTENT)),
        ],
    )
    def test_one_range(
        self, service: InProcess, stored: Stored, header: str, start: int, stop: int
    ) -> None:
        response = service.user.get(stored.path, headers={"range": header})
        assert response.status_code == 206
        assert response.content == CONTENT[start:stop]
        assert response.headers["content-range"] == f"bytes {start}-{stop - 1}/{len(CONTENT)}"

    @pytest.mark.parametrize(
        "header",
        [
            "bytes=99999999-",
            "bytes=5-2",
            "bytes=-0",
            "bytes=x-y",
            "bytes=0-0,x",
            "bytes=" + ",".join(f"{n}-{n}" for n in range(5_000)),
        ],
    )
    def test_an_abused_range_is_refused(
        self, service: InProcess, stored: Stored, header: str
    ) -> None:
        response = service.user.get(stored.path, headers={"range": header})
        assert check_problem(response, 416)["code"] == "range_not_satisfiable"
        assert response.headers["content-range"] == f"bytes */{len(CONTENT)}"

    def test_a_range_of_another_version_is_answered_with_the_whole(
        self, service: InProcess, stored: Stored
    ) -> None:
        headers = {"range": "bytes=0-9", "if-range": '"other"'}
        assert service.user.get(stored.path, headers=headers).status_code == 200
        headers["if-range"] = f'"{SHA256}"'
        assert service.user.get(stored.path, headers=headers).status_code == 206

    def test_a_known_file_is_not_sent_again(self, service: InProcess, stored: Stored) -> None:
        response = service.user.get(stored.path, headers={"if-none-match": f'"{SHA256}"'})
        assert (response.status_code, response.content) == (304, b"")

    def test_a_file_is_not_found_under_another_job(
        self, service: InProcess, stored: Stored
    ) -> None:
        foreign = stored.path.replace(stored.attempt.claim["job_id"], service.submit()["id"])
        check_problem(service.user.get(foreign), 404)

    def test_a_vanished_file_is_an_error_of_the_store(self, service: InProcess) -> None:
        attempt = service.attempt(service.submit()["id"])
        artifact_id = attempt.put("a.bin", "weights", b"short-lived").json()["artifact_id"]
        digest = hashlib.sha256(b"short-lived").hexdigest()
        next(service.settings.artifacts_dir.rglob(digest)).unlink()
        path = f"/v1/jobs/{attempt.claim['job_id']}/artifacts/{artifact_id}/content"
        response = service.user.get(path)
        assert check_problem(response, 503)["code"] == "artifact_store"
        assert response.headers["retry-after"]


class TestProfile:
    def profile(self, service: InProcess, attempt: Attempt) -> httpx.Response:
        return service.user.get(f"/v1/jobs/{attempt.claim['job_id']}/profile")

    def test_is_the_content_of_its_file(self, service: InProcess) -> None:
        attempt = service.attempt(service.submit()["id"])
        check_problem(self.profile(service, attempt), 404)
        attempt.put("profile.json", "profile", b'{"steps": 3}')
        response = self.profile(service, attempt)
        assert response.headers["content-type"] == "application/json"
        assert response.json() == {"steps": 3}


def test_a_report_is_shown_without_the_session(service: InProcess) -> None:
    """A browser gives the page of a worker an origin of its own, and lets it fetch nothing."""
    attempt = service.attempt(service.submit()["id"])
    path = f"/v1/jobs/{attempt.claim['job_id']}/report"
    check_problem(service.user.get(path), 404)
    attempt.put("report.html", "report", b"<!doctype html><title>t</title>")
    response = service.user.get(path)
    assert response.headers["content-type"].startswith("text/html")
    assert response.headers["content-disposition"].startswith("inline")
    policy = dict(
        rule.strip().partition(" ")[::2]
        for rule in response.headers["content-security-policy"].split(";")
    )
    assert policy["sandbox"] == "allow-scripts"
    assert policy["default-src"] == "'none'"
    assert policy["frame-ancestors"] == "'self'"


def test_what_is_shown_inline_has_the_type_of_its_role(service: InProcess) -> None:
    """Neither the name nor the announced type of a file decides what a browser makes of it."""
    attempt = service.attempt(service.submit()["id"])
    page, announced = b"<script>alert(1)</script>", {"media_type": "text/html"}
    attempt.put("profile.html", "profile", page, announced)
    attempt.put("output.html", "output", page, announced)
    path = f"/v1/jobs/{attempt.claim['job_id']}"
    shown = service.user.get(f"{path}/profile")
    assert shown.headers["content-disposition"].startswith("inline")
    assert shown.headers["content-type"] == "application/json"
    files = service.user.get(f"{path}/artifacts").json()["artifacts"]
    for file in files:
        answer = service.user.get(f"{path}/artifacts/{file['id']}/content")
        assert answer.headers["content-disposition"].startswith("attachment")
        assert "sandbox" in answer.headers["content-security-policy"].split("; ")
