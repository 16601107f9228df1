"""Storing files, and downloading them whole or in part."""

from __future__ import annotations

import contextlib
import hashlib
import io
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from ipulse import outgoing_file
from ipulse.outgoing_file import OutgoingFile
from ipulse_core import messages
from ipulse_service.files.checksums import BLOCK_BYTES
from ipulse_service.jobs import leases
from ipulse_worker.agent.lease import AttemptLease
from ipulse_worker.agent.retry_policy import retry_while_unavailable
from ipulse_worker.agent.service_api import ServiceAPI
from tests.service.agents import Attempt
from tests.service.conditions import eventually
from tests.service.http.routes.test_submission import check_problem
from tests.service.running import InProcess

CONTENT = bytes(range(256)) * 4096 + b"odd"  # a mebibyte and a little, so several chunks


def partial_upload(service: InProcess, attempt: Attempt, content: bytes) -> Path:
    """Where a file is while it arrives."""
    with service.database.read() as transaction:
        claimed = attempt.claim["attempt_id"]
        pk = leases.check_fence(transaction, claimed, attempt.fence).pk
    name = f"{pk}-{hashlib.sha256(content).hexdigest()}"
    return service.settings.artifacts_dir / "incoming" / name


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

    def test_a_request_that_announces_less_than_has_arrived_is_refused(
        self, service: InProcess
    ) -> None:
        attempt = service.attempt(service.submit()["id"])
        content, fewer = self.CONTENT, {"size": 5}
        for rest in (b"", b"more"):
            assert attempt.put("w", "weights", content, sent=content[:7], offset=0).is_success
            last = attempt.put("w", "weights", content, fewer, sent=rest, offset=7)
            [problem] = check_problem(last, 422)["errors"]
            assert problem["code"] == "wrong_size"

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
