"""Storing files, and downloading them whole or in part."""

from __future__ import annotations

import base64
import contextlib
import errno
import hashlib
import io
import logging
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from ipulse import outgoing_file
from ipulse.outgoing_file import OutgoingFile
from ipulse.stack.redis_server import RedisServer
from ipulse_core import messages
from ipulse_service.files.checksums import BLOCK_BYTES
from ipulse_service.jobs import leases
from ipulse_worker.agent.retry_policy import retry_while_unavailable
from ipulse_worker.agent.service_api import ServiceAPI
from ipulse_worker.agent.supervision.lease import AttemptLease
from tests.service.agents import Attempt, phase
from tests.service.conditions import DEADLINE_SECONDS, eventually
from tests.service.http.routes.test_submission import check_problem
from tests.service.running import InProcess, settings_for

CONTENT = bytes(range(256)) * 4096 + b"odd"  # a mebibyte and a little, so several chunks
SHA256 = hashlib.sha256(CONTENT).hexdigest()


def stored_files(service: InProcess) -> list[str]:
    root = service.settings.artifacts_dir
    return sorted(path.name for path in root.rglob("*") if path.is_file())


def partial_upload(service: InProcess, attempt: Attempt, content: bytes) -> Path:
    """Where a file is while it arrives."""
    with service.database.read() as transaction:
        claimed = attempt.claim["attempt_id"]
        pk = leases.check_fence(transaction, claimed, attempt.fence).pk
    name = f"{pk}-{hashlib.sha256(content).hexdigest()}"
    return service.settings.artifacts_dir / "incoming" / name


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


class TestResumed:
    def test_an_upload_continues_where_it_broke_off(self, service: InProcess) -> None:
        attempt = service.attempt(service.submit()["id"])
        content = bytes(range(256)) * 20_000
        arriving = partial_upload(service, attempt, content)

        def half() -> Iterator[bytes]:
            yield content[: 3 * 2**20]
            eventually(lambda: arriving.exists() and arriving.stat().st_size > 0)
            raise ZeroDivisionError  # the agent's connection ends here

        with pytest.raises(ZeroDivisionError):
            attempt.put("w", "weights", content, sent=half())

        def refused() -> str:
            wrong = attempt.put("w", "weights", content, sent=content[7:], offset=7)
            problem = check_problem(wrong, 409)
            assert problem["code"] == "wrong_offset"
            return str(problem["detail"])

        # While the service is still at the first one, another try begins at nothing.
        eventually(lambda: "has 0 bytes" not in refused())
        arrived = int(attempt.arrived("w", "weights", content))
        assert 0 < arrived <= 3 * 2**20
        rest = attempt.put("w", "weights", content, sent=content[arrived:], offset=arrived)
        assert rest.status_code == 201
        assert attempt.arrived("w", "weights", content) == "0"

    def test_an_upload_that_a_stop_cancels_continues_after_it(self, service: InProcess) -> None:
        attempt = service.attempt(service.submit()["id"])
        content = bytes(range(256)) * 20_000
        arriving = partial_upload(service, attempt, content)
        tasks = service.server.server_state.tasks
        before = set(tasks)

        def half() -> Iterator[bytes]:
            yield content[: 3 * 2**20]
            eventually(lambda: arriving.exists() and arriving.stat().st_size > 0)
            [upload] = tasks - before
            upload.get_loop().call_soon_threadsafe(upload.cancel)  # as the server in the end
            eventually(lambda: service.state.blobs.arrived(arriving.name) > 0)
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            attempt.put("w", "weights", content, sent=half())
        assert content.startswith(arriving.read_bytes())

    def test_a_rest_that_does_not_fit_is_refused_and_forgotten(self, service: InProcess) -> None:
        attempt = service.attempt(service.submit()["id"])
        content = b"all of it"
        partial_upload(service, attempt, content).write_bytes(b"other")
        refused = attempt.put("w", "weights", content, sent=content[5:], offset=5)
        assert check_problem(refused, 422)["code"] == "wrong_content"
        assert attempt.arrived("w", "weights", content) == "0"
        assert attempt.put("w", "weights", content).status_code == 201


class TestWholeDigest:
    """The SHA-256 of the whole file decides, however many requests it took."""

    CONTENT = bytes(range(256)) * 9_000  # more than two batches

    def listed(self, service: InProcess, attempt: Attempt) -> list[dict[str, Any]]:
        answer = service.user.get(f"/v1/jobs/{attempt.claim['job_id']}/artifacts")
        artifacts: list[dict[str, Any]] = answer.json()["artifacts"]
        return artifacts

    @pytest.mark.parametrize("size", [0, 1, BLOCK_BYTES - 1, BLOCK_BYTES, BLOCK_BYTES + 1])
    def test_a_file_of_any_size_is_stored(self, service: InProcess, size: int) -> None:
        attempt = service.attempt(service.submit()["id"])
        content = self.CONTENT[:size]
        assert attempt.put("w", "weights", content).status_code == 201
        [artifact] = self.listed(service, attempt)
        assert artifact["size"] == size
        assert artifact["sha256"] == hashlib.sha256(content).hexdigest()

    def test_a_file_may_come_in_any_number_of_requests(self, service: InProcess) -> None:
        attempt = service.attempt(service.submit()["id"])
        content = self.CONTENT
        offset = 0
        for end in (7, BLOCK_BYTES, BLOCK_BYTES, 2 * BLOCK_BYTES + 1):
            sent = attempt.put("w", "weights", content, sent=content[offset:end], offset=offset)
            assert (sent.status_code, sent.headers["upload-offset"]) == (204, str(end))
            assert attempt.arrived("w", "weights", content) == str(end)
            offset = end
        assert self.listed(service, attempt) == []
        last = attempt.put("w", "weights", content, sent=content[offset:], offset=offset)
        assert last.status_code == 201
        [artifact] = self.listed(service, attempt)
        assert artifact["sha256"] == hashlib.sha256(content).hexdigest()
        assert attempt.arrived("w", "weights", content) == "0"

    @pytest.mark.parametrize(
        ("place", "arrived"),
        [(0, 0), (2**20 - 1, 2**20 + 7), (2**20, 2**20 + 7), (len(CONTENT) - 1, 0)],
    )
    def test_a_changed_byte_is_refused_and_the_next_try_begins_anew(
        self, service: InProcess, place: int, arrived: int
    ) -> None:
        """Also if it changed on this disk, between two requests."""
        attempt = service.attempt(service.submit()["id"])
        damaged = bytearray(self.CONTENT)
        damaged[place] ^= 1
        if arrived:
            partial_upload(service, attempt, self.CONTENT).write_bytes(damaged[:arrived])
        answer = attempt.put(
            "w", "weights", self.CONTENT, sent=bytes(damaged[arrived:]), offset=arrived or None
        )
        problem = check_problem(answer, 422)
        assert [error["code"] for error in problem["errors"]] == ["wrong_sha256"]
        assert self.listed(service, attempt) == []
        assert attempt.arrived("w", "weights", self.CONTENT) == "0"
        assert attempt.put("w", "weights", self.CONTENT).status_code == 201

    def test_two_requests_at_once_do_not_mix(self, service: InProcess) -> None:
        attempt = service.attempt(service.submit()["id"])
        content = self.CONTENT
        arriving = partial_upload(service, attempt, content)
        second: list[httpx.Response] = []

        def sent() -> Iterator[bytes]:
            yield content[: 2 * BLOCK_BYTES]
            eventually(lambda: arriving.exists() and arriving.stat().st_size > 0)
            second.append(attempt.put("w", "weights", content))
            yield content[2 * BLOCK_BYTES :]

        first = attempt.put("w", "weights", content, sent=sent())
        assert sorted([first.status_code, second[0].status_code]) == [200, 201]
        [artifact] = self.listed(service, attempt)
        assert artifact["sha256"] == hashlib.sha256(content).hexdigest()

    def test_an_agent_resumes_after_its_connection_broke(self, service: InProcess) -> None:
        content = self.CONTENT * (outgoing_file.LARGE_BYTES // len(self.CONTENT) + 1)

        class Breaking(io.BytesIO):
            breaks = False

            def read(self, size: int | None = -1, /) -> bytes:
                if self.breaks and self.tell() >= 5 * BLOCK_BYTES:
                    self.breaks = False
                    raise httpx.WriteError("the connection is cut")
                return super().read(size)

        attempt = service.attempt(service.submit()["id"])
        token = service.worker.headers["authorization"].removeprefix("Bearer ")
        offsets: list[str | None] = []
        with contextlib.closing(ServiceAPI(str(service.worker.base_url), token)) as api:
            lease = AttemptLease(attempt.claim["attempt_id"], attempt.fence, 60.0, time.monotonic())
            content_file = Breaking(content)
            file = OutgoingFile(content_file, len(content))
            content_file.breaks = True
            with api._connections.use() as http:
                http.event_hooks["request"] = [
                    lambda request: offsets.append(request.headers.get("upload-offset"))
                ]

            def upload() -> None:
                if offsets:  # the first request holds the file until the service notices the cut
                    eventually(lambda: attempt.arrived("w", "weights", content) != "0")
                api.upload(lease, file, name="w", role="weights", media_type="application/zip")

            retry_while_unavailable(upload, lease.wait_for_loss)
            # The agent sends the same file again, as after a lost response.
            api.upload(lease, file, name="w", role="weights", media_type="application/zip")
        [artifact] = self.listed(service, attempt)
        assert artifact["size"] == len(content)
        assert artifact["sha256"] == hashlib.sha256(content).hexdigest()
        assert any(offset and int(offset) > 0 for offset in offsets), "nothing was resumed"

    def test_an_agent_of_version_0_1_stops_and_its_job_runs_elsewhere(
        self, service: InProcess
    ) -> None:
        attempt = service.attempt(service.submit()["id"])
        answer = service.worker.put(
            f"{attempt.path}/artifacts/w",
            params={"role": "weights", "upload": "7" * 64, "size": 3},
            content=b"abc" + bytes(4),
            headers={"ipulse-fence": attempt.fence, messages.PROTOCOL_HEADER: "4"},
        )
        problem = check_problem(answer, 409)
        assert problem["code"] == "stale_token"
        assert "upgrade" in problem["detail"]


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


class TestStore:
    def test_what_arrived_is_listed_with_its_digest(self, service: InProcess) -> None:
        attempt = service.attempt(service.submit()["id"])
        artifact_id = attempt.put("a.bin", "weights", b"abc").json()["artifact_id"]
        response = service.user.get(f"/v1/jobs/{attempt.claim['job_id']}/artifacts")
        [artifact] = response.json()["artifacts"]
        assert artifact.pop("created_at").endswith("Z")
        assert artifact == {
            "id": artifact_id,
            "name": "a.bin",
            "role": "weights",
            "media_type": "application/json",
            "size": 3,
            "sha256": hashlib.sha256(b"abc").hexdigest(),
            "attempt": 1,
        }

    def test_the_manifest_makes_it_complete(self, service: InProcess) -> None:
        attempt = service.attempt(service.submit()["id"])
        path = f"/v1/jobs/{attempt.claim['job_id']}/artifacts"
        attempt.put("a.bin", "weights")
        assert service.user.get(path).json()["complete"] is False
        for name in ("compile", "run", "report"):
            attempt.report(phase(name))
        assert check_problem(attempt.finish("completed"), 409)["code"] == "incomplete"
        attempt.put("manifest.json", "manifest")
        assert service.user.get(path).json()["complete"] is True
        assert attempt.finish("completed").json()["state"] == "succeeded"

    def test_an_empty_file_is_a_file(self, service: InProcess) -> None:
        attempt = service.attempt(service.submit()["id"])
        artifact_id = attempt.put("empty", "log", b"").json()["artifact_id"]
        path = f"/v1/jobs/{attempt.claim['job_id']}/artifacts/{artifact_id}/content"
        assert service.user.get(path).content == b""
        check_problem(service.user.get(path, headers={"range": "bytes=0-"}), 416)

    def test_the_same_file_twice_is_one_artifact(self, service: InProcess) -> None:
        attempt = service.attempt(service.submit()["id"])
        first = attempt.put("a.bin", "weights", b"abc")
        again = attempt.put("a.bin", "weights", b"abc")
        assert (first.status_code, again.status_code) == (201, 200)
        assert first.json() == again.json()

    def test_another_file_of_that_name_is_refused(self, service: InProcess) -> None:
        attempt = service.attempt(service.submit()["id"])
        attempt.put("a.bin", "weights", b"abc")
        problem = check_problem(attempt.put("a.bin", "weights", b"abd"), 409)
        assert problem["code"] == "artifact_exists"

    def test_a_checkpoint_takes_the_place_of_the_one_before(self, service: InProcess) -> None:
        attempt = service.attempt(service.submit()["id"])
        old, new = (hashlib.sha256(text).hexdigest() for text in (b"epoch one", b"epoch two"))
        attempt.put("epoch-1.ckpt", "checkpoint", b"epoch one")
        assert old in stored_files(service)
        attempt.put("epoch-2.ckpt", "checkpoint", b"epoch two")
        response = service.user.get(f"/v1/jobs/{attempt.claim['job_id']}/artifacts")
        assert [artifact["name"] for artifact in response.json()["artifacts"]] == ["epoch-2.ckpt"]
        eventually(lambda: old not in stored_files(service))
        assert new in stored_files(service)

    def test_the_answer_to_a_checkpoint_waits_for_no_removal(
        self, service: InProcess, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        answered, discard = threading.Event(), service.state.blobs.discard

        def discard_late(sha256: str) -> None:
            assert answered.wait(DEADLINE_SECONDS)
            discard(sha256)

        monkeypatch.setattr(service.state.blobs, "discard", discard_late)
        attempt = service.attempt(service.submit()["id"])
        attempt.put("c", "checkpoint", b"epoch three")
        assert attempt.put("c", "checkpoint", b"epoch four").status_code == 201
        answered.set()
        eventually(lambda: hashlib.sha256(b"epoch three").hexdigest() not in stored_files(service))

    def test_a_replaced_checkpoint_stays_while_another_job_has_the_same(
        self, service: InProcess
    ) -> None:
        keeper, mover = (service.attempt(service.submit()["id"]) for _ in range(2))
        shared = keeper.put("a.ckpt", "checkpoint", b"shared start").json()["artifact_id"]
        mover.put("a.ckpt", "checkpoint", b"shared start")
        mover.put("a.ckpt", "checkpoint", b"moved on")
        path = f"/v1/jobs/{keeper.claim['job_id']}/artifacts/{shared}/content"
        assert service.user.get(path).content == b"shared start"

    @pytest.mark.parametrize(
        ("announced", "pointer", "code"),
        [
            ({"sha256": "0" * 64}, "/query/sha256", "wrong_sha256"),
            ({"size": 4}, "/query/size", "wrong_size"),
            ({"size": 2}, "/query/size", "wrong_size"),
            ({"size": 0}, "/query/size", "wrong_size"),
        ],
    )
    def test_what_is_not_what_was_announced_is_not_kept(
        self, service: InProcess, announced: dict[str, str | int], pointer: str, code: str
    ) -> None:
        attempt = service.attempt(service.submit()["id"])
        before = stored_files(service)
        problem = check_problem(attempt.put("a.bin", "weights", b"abc", announced), 422)
        assert [(error["pointer"], error["code"]) for error in problem["errors"]] == [
            (pointer, code)
        ]
        assert stored_files(service) == before

    @pytest.mark.parametrize(
        ("name", "announced", "status", "pointer"),
        [
            ("%2e%2e", {}, 422, "/path/name"),
            (".hidden", {}, 422, "/path/name"),
            ("a%20b", {}, 422, "/path/name"),
            ("a%0Ab", {}, 422, "/path/name"),
            ("a%00", {}, 422, "/path/name"),
            ("%C3%A9", {}, 422, "/path/name"),
            ("x" * 129, {}, 422, "/path/name"),
            ("a.bin", {"role": "trophy"}, 422, "/query/role"),
            ("a.bin", {"media_type": "text/html\r\nx: y"}, 422, "/query/media_type"),
            ("a.bin", {"media_type": "nonsense"}, 422, "/query/media_type"),
            ("a.bin", {"media_type": "text/pläin"}, 422, "/query/media_type"),
            ("a.bin", {"sha256": "ABC"}, 400, "/query/sha256"),
            ("a.bin", {"sha256": "../../etc/passwd"}, 400, "/query/sha256"),
            ("a.bin", {"size": -1}, 400, "/query/size"),
            ("a.bin", {"size": "9" * 30}, 400, "/query/size"),
            ("a.bin", {"path": "/etc/passwd"}, 400, "/query/path"),
        ],
    )
    def test_a_wrong_description_is_named_and_nothing_kept(
        self,
        service: InProcess,
        name: str,
        announced: dict[str, str | int],
        status: int,
        pointer: str,
    ) -> None:
        attempt = service.attempt(service.submit()["id"])
        before = stored_files(service)
        problem = check_problem(attempt.put(name, "weights", announced=announced), status)
        assert [error["pointer"] for error in problem["errors"]] == [pointer]
        assert stored_files(service) == before

    def test_an_upload_that_breaks_off_is_kept_only_to_go_on_and_is_no_error(
        self, service: InProcess, caplog: pytest.LogCaptureFixture
    ) -> None:
        attempt = service.attempt(service.submit()["id"])
        content = bytes(4_000_000)
        path = partial_upload(service, attempt, content)
        token = service.worker.headers["authorization"]
        query = f"role=weights&size={len(content)}&sha256={hashlib.sha256(content).hexdigest()}"
        request = (
            f"PUT {attempt.path}/artifacts/a.bin?{query} HTTP/1.1\r\nHost: localhost\r\n"
            f"Authorization: {token}\r\nIPUlse-Fence: {attempt.fence}\r\nIPUlse-Protocol: 5\r\n"
            f"Content-Length: {len(content)}\r\n\r\n"
        )
        address = (service.user.base_url.host, service.user.base_url.port or 0)
        with socket.create_connection(address) as connection:
            connection.sendall(request.encode() + content[: 3 * 2**20])
            eventually(lambda: path.exists() and path.stat().st_size > 0)
        eventually(lambda: service.state.blobs.arrived(path.name) > 0)  # it is nobody's now
        os.utime(path, (0, 0))
        service.state.blobs.prepare()
        assert not path.exists()
        assert [r for r in caplog.records if r.levelno >= logging.ERROR] == []

    def test_a_file_that_the_disk_did_not_take_is_not_kept(
        self, service: InProcess, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fails_once(descriptor: int) -> None:
            monkeypatch.undo()  # the system reports it once
            raise OSError(errno.EIO, os.strerror(errno.EIO))

        attempt = service.attempt(service.submit()["id"])
        before = stored_files(service)
        monkeypatch.setattr("ipulse_service.files.partial_upload.os.fsync", fails_once)
        response = attempt.put("a.bin", "weights", bytes(5 * 2**20))
        assert check_problem(response, 503)["code"] == "artifact_store"
        assert stored_files(service) == before
        assert attempt.put("a.bin", "weights", bytes(5 * 2**20)).status_code == 201

    def test_an_upload_that_cannot_be_read_back_is_not_resumed(self, service: InProcess) -> None:
        attempt = service.attempt(service.submit()["id"])
        path = partial_upload(service, attempt, CONTENT)
        path.mkdir()  # stands for a file that the disk does not return
        response = attempt.put("a.bin", "weights", CONTENT, sent=CONTENT[7:], offset=7)
        assert check_problem(response, 503)["code"] == "artifact_store"
        path.rmdir()
        assert attempt.put("a.bin", "weights", CONTENT).status_code == 201

    @pytest.mark.parametrize("name", ["a%2Fb", "..%2F..%2Fetc%2Fpasswd", "a/b"])
    def test_a_name_with_a_slash_is_no_route(self, service: InProcess, name: str) -> None:
        attempt = service.attempt(service.submit()["id"])
        check_problem(attempt.put(name, "weights"), 404)

    def test_a_file_above_the_cap_is_refused(
        self, redis_server: RedisServer, tmp_path: Path
    ) -> None:
        settings = settings_for(tmp_path / "home", redis_server.url, max_artifact_bytes=1000)
        with InProcess(settings) as service:
            attempt = service.attempt(service.submit()["id"])
            assert attempt.put("a.bin", "weights", b"x" * 1000).status_code == 201
            response = attempt.put("b.bin", "weights", b"x" * 5_000_000)
            assert check_problem(response, 413)["code"] == "too_large"


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
    assert policy["sandbox"] == "allow-scripts allow-popups"
    assert policy["default-src"] == "'none'"
    assert policy["frame-ancestors"] == "'self'"
