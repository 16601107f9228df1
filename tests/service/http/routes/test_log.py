"""The log of a job, as text and as JSON."""

from __future__ import annotations

from typing import Any

import pytest

from ipulse_service.http.routes.jobs import logs
from ipulse_service.jobs import events
from tests.service.agents import METRIC, line
from tests.service.http.routes.test_submission import check_problem
from tests.service.running import InProcess


class TestLog:
    def test_is_what_was_written_as_text(self, service: InProcess, finished: str) -> None:
        response = service.user.get(f"/v1/jobs/{finished}/log")
        assert response.headers["content-type"] == "text/plain; charset=utf-8"
        assert response.text == "".join(f"line {number}\n" for number in range(20))

    def test_a_long_one_comes_in_pieces_and_without_gap(
        self, service: InProcess, finished: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        whole = service.user.get(f"/v1/jobs/{finished}/log").content
        for piece in (1, 7, 20):
            monkeypatch.setattr(logs, "EVENTS_PER_READ", piece)
            assert service.user.get(f"/v1/jobs/{finished}/log").content == whole

    def test_of_a_job_that_continues_writing_ends(
        self, service: InProcess, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Each time a piece is read there is one line more."""
        attempt = service.attempt(service.submit()["id"])
        attempt.report(*(line(str(number)) for number in range(7)))
        read, numbers = events.log, iter(range(7, 30))

        def read_while_writing(*asked: Any) -> str:
            some = read(*asked)
            attempt.report(line(str(next(numbers))))
            return some

        monkeypatch.setattr(logs, "EVENTS_PER_READ", 3)
        monkeypatch.setattr(events, "log", read_while_writing)
        job_id = attempt.claim["job_id"]
        lines = service.user.get(f"/v1/jobs/{job_id}/log").text.split()
        assert lines == [str(number) for number in range(7)]

    def test_every_character_comes_back_as_it_was_written(self, service: InProcess) -> None:
        attempt = service.attempt(service.submit()["id"])
        texts = ['"', "a \\ b", "tab\there", "", "\u00e9 \u4e2d \U0001f9e0", '{"level":"x"}']
        attempt.report(*(line(text) for text in texts), METRIC)
        job_id = attempt.claim["job_id"]
        assert service.user.get(f"/v1/jobs/{job_id}/log").text == "".join(f"{s}\n" for s in texts)
        events = service.events(job_id, kind="log")["events"]
        assert [event["message"] for event in events] == texts

    def test_of_a_job_that_has_written_nothing_is_empty(self, service: InProcess) -> None:
        assert service.user.get(f"/v1/jobs/{service.submit()['id']}/log").content == b""
        check_problem(service.user.get("/v1/jobs/job_none/log"), 404)
