"""Files of jobs are stored as they were announced, or not at all."""

from __future__ import annotations

import errno
import hashlib
import logging
import os
import socket
import threading
from pathlib import Path

import pytest

from ipulse.stack.redis_server import RedisServer
from tests.service.agents import phase
from tests.service.conditions import DEADLINE_SECONDS, eventually
from tests.service.http.routes.test_artifacts import CONTENT, partial_upload
from tests.service.http.routes.test_submission import check_problem
from tests.service.running import InProcess, settings_for


def stored_files(service: InProcess) -> list[str]:
    root = service.settings.artifacts_dir
    return sorted(path.name for path in root.rglob("*") if path.is_file())


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
