"""Events of an attempt, as its agent reports them."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from ipulse_core.messages import EVENTS_PER_COMMIT, EVENTS_PER_REQUEST
from tests.service.agents import METRIC, line, phase
from tests.service.conditions import DEADLINE_SECONDS
from tests.service.http.routes.test_submission import check_problem
from tests.service.running import InProcess

TALK = 2 * EVENTS_PER_COMMIT


class TestEvents:
    def test_are_stored_once_however_often_they_are_sent(self, service: InProcess) -> None:
        attempt = service.attempt(service.submit()["id"])
        lines = [line(str(number)) for number in range(6)]
        assert attempt.post("events", {"first": 1, "events": lines[:3]}).json() == {"next": 4}
        assert attempt.post("events", {"first": 1, "events": lines[:3]}).json() == {"next": 4}
        assert attempt.post("events", {"first": 2, "events": lines[1:5]}).json() == {"next": 6}
        assert attempt.post("events", {"first": 6, "events": []}).json() == {"next": 6}
        events = service.events(attempt.claim["job_id"], kind="log")["events"]
        assert [event["message"] for event in events] == list("01234")

    def test_a_gap_is_refused_with_the_number_expected(self, service: InProcess) -> None:
        attempt = service.attempt(service.submit()["id"])
        problem = check_problem(attempt.post("events", {"first": 2, "events": [METRIC]}), 409)
        assert problem["code"] == "sequence_gap"
        assert "event 1 is expected" in problem["detail"]

    def test_a_large_batch_is_stored_whole(self, service: InProcess) -> None:
        attempt = service.attempt(service.submit()["id"])
        lines = [line(str(number)) for number in range(2 * EVENTS_PER_COMMIT + 203)]
        answer = attempt.post("events", {"first": 1, "events": lines}).json()
        assert answer == {"next": len(lines) + 1}
        assert service.job(attempt.claim["job_id"])["last_seq"] == len(lines) + 2

    def test_lines_sent_together_are_events_of_their_own(self, service: InProcess) -> None:
        attempt = service.attempt(service.submit()["id"])
        lines = {"kind": "lines", "messages": ["b", "c", "d"], "level": "warning"}
        assert (
            attempt.post("events", {"first": 1, "events": [line("a"), lines]}).json()["next"] == 5
        )
        again = {**lines, "messages": ["d", "e"], "level": "info"}
        assert attempt.post("events", {"first": 4, "events": [again]}).json() == {"next": 6}
        events = service.events(attempt.claim["job_id"], kind="log")["events"]
        assert [event["message"] for event in events] == list("abcde")
        assert [event["level"] for event in events] == ["info", *["warning"] * 3, "info"]
        assert [event["seq"] for event in events] == list(
            range(events[0]["seq"], events[0]["seq"] + 5)
        )

    @pytest.mark.parametrize("special", ["", "a\tb", "caf\u00e9", "\u3000\U0001f600", r"C:\new"])
    def test_packed_and_single_lines_are_returned_alike(
        self, service: InProcess, special: str
    ) -> None:
        texts = ["plain", '{"a": "b/\\\\"}', "", special]
        attempt = service.attempt(service.submit()["id"])
        attempt.report({"kind": "lines", "messages": texts, "level": "info", "stream": "runner"})
        attempt.report(*map(line, texts))
        path = f"/v1/jobs/{attempt.claim['job_id']}/events?kind=log"
        page = service.user.get(path).json()
        assert [event["message"] for event in page["events"]] == texts * 2
        attempt.complete()
        stream = service.user.get(path, headers={"accept": "text/event-stream"}).text
        assert stream.isascii(), "some readers of a stream take other characters for line ends"
        data = [line[6:] for line in stream.splitlines() if line.startswith("data: ")]
        assert [json.loads(text) for text in data[:-1]] == page["events"]
        assert service.user.get(path.replace("events?kind=", "")).text.split("\n")[:-1] == texts * 2

    def test_each_line_counts_for_one_event(self, service: InProcess) -> None:
        attempt = service.attempt(service.submit()["id"])
        many = {"kind": "lines", "messages": [""] * EVENTS_PER_REQUEST}
        response = attempt.post("events", {"first": 1, "events": [line("one"), many]})
        (error,) = check_problem(response, 422)["errors"]
        assert (error["pointer"], error["code"]) == ("/events", "wrong_length")
        some = {**many, "messages": [""] * (EVENTS_PER_COMMIT + 1)}
        body = {"reason": "diverged", "message": "", "summary": {}, "first": 1, "events": [some]}
        check_problem(attempt.post("finish", body), 422)
        assert attempt.post("events", {"first": 1, "events": [line("still here")]}).is_success

    def test_a_job_with_many_events_does_not_delay_other_requests(self, service: InProcess) -> None:
        attempt = service.attempt(service.submit()["id"])
        job_id = attempt.claim["job_id"]
        begun, answered = threading.Event(), threading.Event()

        def pause(topics: frozenset[str]) -> None:
            """Holds the batch up after the first of its commits."""
            if job_id in topics and not begun.is_set():
                begun.set()
                answered.wait(DEADLINE_SECONDS)

        service.database.listeners.append(pause)
        try:
            talk = threading.Thread(target=attempt.report, args=[line("word")] * TALK)
            talk.start()
            assert begun.wait(DEADLINE_SECONDS)
            service.submit()
            so_far = service.job(job_id)["last_seq"]
            answered.set()
            talk.join()
        finally:
            service.database.listeners.remove(pause)
        assert so_far < TALK, "others write between the parts of a long batch"
        assert attempt.next == TALK + 1

    def test_a_phase_moves_the_job_and_a_metric_is_its_progress(self, service: InProcess) -> None:
        attempt = service.attempt(service.submit()["id"])
        later = {**METRIC, "step": 5}
        attempt.report(phase("prepare"), phase("compile"), METRIC, phase("run"), METRIC, later)
        job = service.job(attempt.claim["job_id"])
        assert job["state"] == "running"
        assert job["progress"] == {
            "epoch": 1,
            "epochs": 2,
            "step": 5,
            "steps": 6,
            "values": {"loss": 0.5},
            "eta_seconds": None,
            "scope": "step",
            "held_out": "test",
            "evaluated": None,
        }

    def test_the_latest_evaluation_stays_while_the_next_epoch_trains(
        self, service: InProcess
    ) -> None:
        attempt = service.attempt(service.submit()["id"])
        attempt.report(phase("run"))

        def evaluated(scope: str, epoch: int, step: int, **values: float) -> Any:
            of_epoch = {"scope": scope, "epoch": epoch, "step": step, "values": values}
            attempt.report({**METRIC, **of_epoch})
            progress = service.job(attempt.claim["job_id"])["progress"]
            assert progress["values"] == values
            return progress["evaluated"]

        assert evaluated("step", 1, 1, accuracy=0.5) is None
        first = {"epoch": 1, "values": {"accuracy": 0.6, "test_accuracy": 0.9}}
        assert evaluated("epoch", 1, 3, **first["values"]) == first
        for step in (4, 5):
            assert evaluated("step", 2, step, accuracy=1.0) == first
        second = {"epoch": 2, "values": {"accuracy": 0.7, "test_accuracy": 0.8}}
        assert evaluated("epoch", 2, 6, **second["values"]) == second
        # Another attempt resumed from a checkpoint before the evaluation.
        assert evaluated("step", 1, 2, accuracy=0.4) is None

    def test_a_phase_that_cannot_come_now_is_refused_with_its_batch(
        self, service: InProcess
    ) -> None:
        attempt = service.attempt(service.submit()["id"])
        attempt.report(phase("run"))
        before = service.events(attempt.claim["job_id"])
        response = attempt.report(line("before"), phase("compile"))
        assert check_problem(response, 409)["code"] == "illegal_transition"
        assert service.events(attempt.claim["job_id"]) == before
        assert attempt.report(line("after")).json() == {"next": 3}

    @pytest.mark.parametrize(
        ("event", "pointer"),
        [
            ({"kind": "gossip"}, "/events/1/kind"),
            ({"kind": "done", "reason": "completed"}, "/events/1/kind"),
            ({"kind": "artifact", "path": "a", "role": "log"}, "/events/1/kind"),
            ({"kind": "log"}, "/events/1/message"),
            ({"kind": "log", "message": "x" * 16_385}, "/events/1/message"),
            ({"kind": "lines", "messages": ["good", "bad\x07"]}, "/events/1/messages/1"),
            ({"kind": "lines", "messages": []}, "/events/1/messages"),
            ({"kind": "phase", "phase": "sleep"}, "/events/1/phase"),
            ({**METRIC, "values": {"loss": "low"}}, "/events/1/values/loss"),
            ({**METRIC, "extra": 1}, "/events/1/extra"),
            ("log", "/events/1"),
        ],
    )
    def test_a_wrong_event_is_named_and_none_stored(
        self, service: InProcess, event: Any, pointer: str
    ) -> None:
        attempt = service.attempt(service.submit()["id"])
        response = attempt.post("events", {"first": 1, "events": [line("good"), event]})
        problem = check_problem(response, 422)
        assert [error["pointer"] for error in problem["errors"]] == [pointer]
        assert service.events(attempt.claim["job_id"], kind="log")["events"] == []

    @pytest.mark.parametrize(
        ("body", "status"),
        [(b'{"first": 1, "events": [NaN]}', 400), (b"[]", 422), (b'{"first": 0}', 422)],
    )
    def test_a_wrong_body_is_refused(self, service: InProcess, body: bytes, status: int) -> None:
        attempt = service.attempt(service.submit()["id"])
        headers = {"ipulse-fence": attempt.fence, "content-type": "application/json"}
        path = f"{attempt.path}/events"
        check_problem(service.worker.post(path, content=body, headers=headers), status)
