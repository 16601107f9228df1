"""The end of an attempt, with the events and the manifest that travel along."""

from __future__ import annotations

import hashlib
import secrets
from base64 import b64encode
from typing import Any

import pytest

from ipulse_core.messages import MANIFEST_BYTES
from tests.service.agents import PHASES, line, phase
from tests.service.http.routes.test_submission import check_problem
from tests.service.running import InProcess


class TestFinish:
    def test_the_same_outcome_twice_is_one(self, service: InProcess) -> None:
        attempt = service.attempt(service.submit()["id"])
        first = attempt.finish("diverged", "the loss is NaN", epoch=3)
        again = attempt.finish("diverged", "the loss is NaN", epoch=3)
        assert first.status_code == again.status_code == 200
        assert first.json() == again.json()
        assert first.json()["state"] == "failed"
        assert first.json()["message"] == "the loss is NaN"
        assert first.json()["summary"] == {"epoch": 3}

    def test_another_outcome_comes_too_late(self, service: InProcess) -> None:
        attempt = service.attempt(service.submit()["id"])
        attempt.finish("diverged", "the loss is NaN")
        assert check_problem(attempt.finish("diverged", "or so"), 409)["code"] == "stale_token"
        assert check_problem(attempt.finish("completed"), 409)["code"] == "stale_token"

    @pytest.mark.parametrize(
        ("body", "pointer"),
        [
            ({"reason": "boredom", "message": "", "summary": {}}, "/reason"),
            ({"message": "", "summary": {}}, "/reason"),
            ({"reason": "diverged", "summary": {"loss": "high"}}, "/summary/loss"),
            ({"reason": "diverged", "message": "x" * 4097}, "/message"),
        ],
    )
    def test_a_wrong_field_is_named(
        self, service: InProcess, body: dict[str, Any], pointer: str
    ) -> None:
        attempt = service.attempt(service.submit()["id"])
        problem = check_problem(attempt.post("finish", body), 422)
        assert [error["pointer"] for error in problem["errors"]] == [pointer]
        assert attempt.heartbeat().status_code == 200

    def test_an_agent_cannot_cancel_a_job(self, service: InProcess) -> None:
        attempt = service.attempt(service.submit()["id"])
        response = attempt.finish("cancelled_by_user")
        assert check_problem(response, 409)["code"] == "illegal_transition"


class TestLastEvents:
    """The last events of an attempt may come with its outcome, in the same transaction."""

    def test_they_stand_before_the_end(self, service: InProcess) -> None:
        job_id = service.submit()["id"]
        attempt = service.attempt(job_id)
        last = [{"kind": "log", "message": "bye", "level": "info", "stream": "stdout"}]
        body = {"reason": "diverged", "message": "", "summary": {}, "first": 1, "events": last}
        for _ in range(2):  # a response may get lost; no event is stored twice
            assert attempt.post("finish", body).status_code == 200
        kinds = [event["kind"] for event in service.events(job_id)["events"]]
        assert kinds == ["state", "state", "log", "log", "state"], "and the reason of the failure"

    def test_what_would_deceive_a_reader_is_escaped(self, service: InProcess) -> None:
        """Agents of earlier versions send it as it is."""
        job_id = service.submit()["id"]
        attempt = service.attempt(job_id)
        deceptive, shown = "a\u202eb\u2028c", "a\\u202eb\\u2028c"
        log = {"kind": "log", "message": deceptive, "level": "info", "stream": "stdout"}
        events = [log, {"kind": "lines", "messages": [deceptive], "stream": "stderr"}]
        body = {"reason": "diverged", "message": deceptive, "summary": {}, "first": 1}
        for _ in range(2):
            assert attempt.post("finish", {**body, "events": events}).status_code == 200
        assert service.job(job_id)["message"] == shown
        assert service.user.get(f"/v1/jobs/{job_id}/log").text.splitlines()[:2] == [shown] * 2

    def test_neither_is_kept_where_one_is_refused(self, service: InProcess) -> None:
        job_id = service.submit()["id"]
        attempt = service.attempt(job_id)
        body = {"reason": "completed", "message": "", "summary": {}, "first": 1}
        body_sent = {**body, "events": [phase("prepare")]}
        assert attempt.post("finish", body_sent).json()["code"] == "incomplete"
        gap = {**body_sent, "reason": "diverged", "first": 2}
        assert attempt.post("finish", gap).json()["code"] == "sequence_gap"
        assert len(service.events(job_id)["events"]) == 2
        assert service.job(job_id)["state"] == "preparing"


class TestManifestWithTheEnd:
    """The manifest may come with the outcome, which saves a request."""

    @staticmethod
    def end(content: bytes = b"{}", **fields: str) -> dict[str, Any]:
        manifest = {
            "name": "manifest.json",
            "sha256": hashlib.sha256(content).hexdigest(),
            "base64": b64encode(content).decode(),
        }
        body_sent = {"reason": "completed", "events": [phase(name) for name in PHASES]}
        return {**body_sent, "manifest": {**manifest, **fields}}

    def test_it_is_kept_with_the_end(self, service: InProcess) -> None:
        job_id = service.submit()["id"]
        attempt = service.attempt(job_id)
        content = b'{"files": ["weights.npz"]}'
        for _ in range(2):  # the answer may get lost; nothing is kept twice
            answer = attempt.post("finish", self.end(content))
            assert answer.json()["state"] == "succeeded", answer.text
        path = f"/v1/jobs/{job_id}/artifacts"
        (kept,) = service.user.get(path).json()["artifacts"]
        assert (kept["name"], kept["role"]) == ("manifest.json", "manifest")
        assert kept["media_type"] == "application/json"
        assert service.user.get(f"{path}/{kept['id']}/content").content == content

    def test_it_may_be_as_large_as_the_protocol_says(self, service: InProcess) -> None:
        attempt = service.attempt(service.submit()["id"])
        answer = attempt.post("finish", self.end(b" " * MANIFEST_BYTES))
        assert answer.json()["state"] == "succeeded", answer.text

    @pytest.mark.parametrize(
        "fields",
        [
            {"sha256": "0" * 64},
            {"base64": "e30"},
            {"base64": "\u00e9"},
            {"name": "../manifest.json"},
            {"media_type": "text"},
            {"base64": b64encode(bytes(MANIFEST_BYTES + 3)).decode()},
        ],
    )
    def test_a_wrong_one_is_refused_and_nothing_kept(
        self, service: InProcess, fields: dict[str, str]
    ) -> None:
        attempt = service.attempt(service.submit()["id"])
        body = self.end(secrets.token_bytes(8), **fields)
        problem = check_problem(attempt.post("finish", body), 422)
        assert problem["errors"][0]["pointer"].startswith("/manifest/")
        assert len(service.events(attempt.claim["job_id"])["events"]) == 2
        assert attempt.finish("completed").json()["code"] == "incomplete"

    def test_of_an_end_that_is_refused_no_file_is_left(self, service: InProcess) -> None:
        attempt = service.attempt(service.submit()["id"])
        content = secrets.token_bytes(8)
        body = {**self.end(content), "first": 2}
        assert attempt.post("finish", body).json()["code"] == "sequence_gap"
        digest = hashlib.sha256(content).hexdigest()
        assert list(service.settings.home.rglob(digest)) == []
        assert service.job(attempt.claim["job_id"])["state"] == "preparing"


class TestLogOfTheEnd:
    """The log alone says why a job failed."""

    @staticmethod
    def log(service: InProcess, job_id: str) -> list[dict[str, Any]]:
        events: list[dict[str, Any]] = service.events(job_id, kind="log")["events"]
        return events

    def test_a_failure_is_the_last_line(self, service: InProcess) -> None:
        job_id = service.submit()["id"]
        attempt = service.attempt(job_id)
        attempt.report(phase("prepare"), line("reading"))
        attempt.finish("data_unavailable", "There is no file x.npz.")
        text = service.user.get(f"/v1/jobs/{job_id}/log").text.splitlines()
        assert text == ["reading", "data_unavailable: There is no file x.npz."]
        last = self.log(service, job_id)[-1]
        assert (last["level"], last["stream"], last["attempt"]) == ("error", "service", 1)

    def test_a_lost_attempt_is_a_warning(self, service: InProcess) -> None:
        job_id = service.submit()["id"]
        service.attempt(job_id).finish("runner_lost", "It was killed.")
        [lost] = self.log(service, job_id)
        assert (lost["level"], lost["message"]) == ("warning", "runner_lost: It was killed.")

    def test_a_result_or_a_cancellation_is_no_error(self, service: InProcess) -> None:
        completed, cancelled = (service.submit()["id"] for _ in range(2))
        service.attempt(completed).complete()
        attempt = service.attempt(cancelled)
        service.user.post(f"/v1/jobs/{cancelled}/cancel")
        attempt.finish("cancelled_by_user")
        assert self.log(service, completed) == self.log(service, cancelled) == []
