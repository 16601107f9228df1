"""Claims, leases and fences, as two agents see them."""

from __future__ import annotations

import hashlib
import secrets
import threading
from base64 import b64encode
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import update

from ipulse import messages
from ipulse.messages import EVENTS_PER_COMMIT, EVENTS_PER_REQUEST, MANIFEST_BYTES
from ipulse.redis_server import RedisServer
from service import leases, schedule, store, tables
from service.job import Job
from tests.service.agents import METRIC, PHASES, Attempt, line, phase
from tests.service.conditions import eventually
from tests.service.conftest import LEASE_SECONDS
from tests.service.running import InProcess, settings_for
from worker.agent.service_answers import WrongProtocol
from worker.agent.service_api import ServiceAPI

from .test_submission import check_problem

MAX_ATTEMPTS = 3
TALK = 10 * EVENTS_PER_COMMIT


@pytest.fixture(scope="module")
def hasty(
    redis_server: RedisServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[InProcess]:
    """A service whose retries are short. Its leases end when a test says so."""
    settings = settings_for(
        tmp_path_factory.mktemp("hasty"),
        redis_server.url,
        lease_seconds=LEASE_SECONDS,
        retry_seconds=0.02,
        max_attempts=MAX_ATTEMPTS,
    )
    with InProcess(settings) as running:
        yield running


def every_word(attempt: Attempt) -> dict[str, Any]:
    """The answers to everything that the holder of an attempt can say."""
    return {
        "heartbeat": attempt.heartbeat(),
        "events": attempt.say(line("late")),
        "artifact": attempt.put("late.bin", "weights", b"late"),
        "finish": attempt.finish("runner_error", "late"),
    }


def check_refused(attempt: Attempt) -> None:
    for word, response in every_word(attempt).items():
        assert check_problem(response, 409)["code"] == "stale_token", word


class TestClaim:
    def test_gives_an_agent_all_it_needs(self, service: InProcess) -> None:
        job = service.submit()
        claim = service.claim(job["id"]).json()
        assert claim["job_id"] == job["id"]
        assert claim["attempt"] == 1
        assert claim["spec"] == job["spec"]
        assert claim["checkpoint"] is None
        assert claim["lease_seconds"] == LEASE_SECONDS
        assert claim["heartbeat_seconds"] == 5
        assert len(claim["fence"]) > 30
        now = service.job(job["id"])
        assert now["state"] == "preparing"
        assert [attempt["agent"] for attempt in now["attempts"]] == ["agent-1"]

    def test_a_job_that_is_deleted_at_that_moment_costs_nobody_an_error(
        self, service: InProcess, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The agent names it, another job's turn comes first, and the one it named is gone."""
        service.submit()
        named = service.submit()["id"]
        head = schedule.head

        def remove() -> httpx.Response:
            service.user.post(f"/v1/jobs/{named}/cancel")
            return service.user.delete(f"/v1/jobs/{named}")

        with ThreadPoolExecutor(1) as beside:

            def head_meanwhile(*asked: Any) -> Job | None:
                removed.append(beside.submit(remove))
                if service.database.url.get_backend_name() == "postgresql":
                    removed[0].result()  # on SQLite whoever writes is alone, and it comes after
                return head(*asked)

            removed: list[Future[httpx.Response]] = []
            monkeypatch.setattr(schedule, "head", head_meanwhile)
            claimed = service.claim(named)
            assert removed[0].result().status_code == 204
        assert claimed.status_code == 200, claimed.text
        assert claimed.json()["job_id"] != named

    def test_of_many_who_ask_at_once_one_gets_it(self, service: InProcess) -> None:
        job = service.submit()
        start = threading.Barrier(8)
        answers: list[int] = []

        def claim() -> None:
            with service.client(service.settings.worker_token_file) as worker:
                body = {"job_id": job["id"], "agent": "a", "device_kinds": ["cpu"]}
                start.wait()
                answers.append(worker.post("/v1/worker/claims", json=body).status_code)

        threads = [threading.Thread(target=claim) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(answers) == [200] + [409] * 7
        assert len(service.job(job["id"])["attempts"]) == 1

    def test_what_nobody_can_claim_is_refused(self, service: InProcess) -> None:
        over = service.attempt(service.submit()["id"]).complete()
        assert check_problem(service.claim(over["id"]), 409)["code"] == "not_claimable"
        check_problem(service.claim("job_" + "0" * 24), 404)

    def test_an_agent_without_the_device_is_refused(self, service: InProcess) -> None:
        body = {"job_id": service.submit()["id"], "agent": "a", "device_kinds": ["ipu"]}
        response = service.worker.post("/v1/worker/claims", json=body)
        assert check_problem(response, 409)["code"] == "not_claimable"

    @pytest.mark.parametrize(
        ("body", "pointer"),
        [
            ({}, "/job_id"),
            ({"job_id": 7, "agent": "a", "device_kinds": ["cpu"]}, "/job_id"),
            ({"job_id": "x", "agent": "a", "device_kinds": []}, "/device_kinds"),
            ({"job_id": "x", "agent": "a\x00", "device_kinds": ["cpu"]}, "/agent"),
            ({"job_id": "x", "agent": "a", "device_kinds": ["cpu"], "x": 1}, "/x"),
        ],
    )
    def test_a_wrong_field_is_named(
        self, service: InProcess, body: dict[str, Any], pointer: str
    ) -> None:
        problem = check_problem(service.worker.post("/v1/worker/claims", json=body), 422)
        assert pointer in [error["pointer"] for error in problem["errors"]]


class TestProtocol:
    """Agents of another version: understood or refused in words, and no job is lost."""

    @pytest.fixture
    def agent(self, service: InProcess) -> Iterator[ServiceAPI]:
        agent = ServiceAPI(service.url, service.settings.worker_token_file.read_text().strip())
        yield agent
        agent.close()

    def test_one_that_says_nothing_of_it_speaks_the_first(self, service: InProcess) -> None:
        assert messages.PROTOCOL_HEADER not in service.worker.headers
        assert service.attempt(service.submit()["id"]).complete()["state"] == "succeeded"

    def test_one_that_is_too_old_ends_what_it_holds_and_gets_no_more(
        self, service: InProcess, agent: ServiceAPI, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        held, other = service.attempt(service.submit()["id"]), service.submit()["id"]
        ours = messages.PROTOCOL
        monkeypatch.setattr(messages, "PROTOCOL", ours + 2)
        monkeypatch.setattr(messages, "OLDEST_PROTOCOL", ours + 1)
        said = f"protocol {ours}, the service {ours + 1} to {ours + 2}: upgrade the agent"
        with pytest.raises(WrongProtocol, match=said):
            agent.claim(other, "old", ["cpu"])
        with pytest.raises(WrongProtocol, match="upgrade the agent"):
            agent.announce("old", ["cpu"])
        assert service.job(other)["state"] == "queued"
        assert held.heartbeat().json()["cancel"] is False
        assert held.complete()["state"] == "succeeded"

    def test_one_that_is_too_new_waits_for_the_service(
        self, service: InProcess, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        job_id = service.submit()["id"]
        ours = messages.PROTOCOL
        monkeypatch.setattr(messages, "PROTOCOL", ours + 1)
        newer = ServiceAPI(service.url, service.settings.worker_token_file.read_text().strip())
        monkeypatch.undo()
        said = f"protocol {ours + 1}, the service 1 to {ours}: upgrade the service"
        with closing(newer), pytest.raises(WrongProtocol, match=said):
            newer.claim(job_id, "new", ["cpu"])
        assert service.job(job_id)["state"] == "queued"
        assert service.attempt(job_id).complete()["state"] == "succeeded"


class TestFence:
    def test_a_wrong_token_opens_nothing(self, service: InProcess) -> None:
        attempt = service.attempt(service.submit()["id"])
        attempt.fence = "wrong"
        check_refused(attempt)
        assert service.job(attempt.claim["job_id"])["state"] == "preparing"

    def test_the_token_of_another_attempt_opens_nothing(self, service: InProcess) -> None:
        first, second = (service.attempt(service.submit()["id"]) for _ in range(2))
        first.fence = second.fence
        check_refused(first)

    def test_a_missing_token_is_named(self, service: InProcess) -> None:
        attempt = service.attempt(service.submit()["id"])
        response = service.worker.post(f"{attempt.path}/heartbeat", json={})
        problem = check_problem(response, 400)
        assert problem["errors"][0]["pointer"].lower() == "/header/ipulse-fence"

    def test_an_attempt_that_ended_says_no_more(self, service: InProcess) -> None:
        attempt = service.attempt(service.submit()["id"])
        job = attempt.complete()
        check_refused(attempt)
        assert service.job(job["id"]) == job

    def test_a_lost_attempt_that_wakes_up_changes_nothing(self, hasty: InProcess) -> None:
        lost = hasty.attempt(hasty.submit()["id"])
        hasty.expire_leases()
        successor = hasty.attempt(lost.claim["job_id"])
        check_refused(lost)
        assert successor.heartbeat().status_code == 200
        successor.finish("diverged")

    @pytest.mark.parametrize("odd", ["att_", "att_" + "0" * 24, "..", "%00", "x" * 300])
    def test_an_id_of_no_attempt_is_not_found(self, service: InProcess, odd: str) -> None:
        headers = {"ipulse-fence": "x"}
        path = f"/v1/worker/attempts/{odd}/heartbeat"
        check_problem(service.worker.post(path, json={}, headers=headers), 404)

    def test_the_token_is_not_in_the_database(self, service: InProcess) -> None:
        attempt = service.attempt(service.submit()["id"])
        for path in service.settings.home.glob("ipulse.db*"):
            assert attempt.fence.encode() not in path.read_bytes()


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

    def test_a_gap_is_refused_and_says_what_is_missing(self, service: InProcess) -> None:
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
        told = service.events(attempt.claim["job_id"], kind="log")["events"]
        assert [event["message"] for event in told] == list("abcde")
        assert [event["level"] for event in told] == ["info", *["warning"] * 3, "info"]
        assert [event["seq"] for event in told] == list(range(told[0]["seq"], told[0]["seq"] + 5))

    @pytest.mark.parametrize("special", ["", "a\tb", "caf\u00e9", "\u2028\U0001f600", r"C:\new"])
    def test_lines_are_told_alike_however_they_came(self, service: InProcess, special: str) -> None:
        texts = ["plain", '{"a": "b/\\\\"}', "", special]
        attempt = service.attempt(service.submit()["id"])
        attempt.say({"kind": "lines", "messages": texts, "level": "info", "stream": "runner"})
        attempt.say(*map(line, texts))
        path = f"/v1/jobs/{attempt.claim['job_id']}/events?kind=log"
        answer = service.user.get(path)
        assert answer.text.isascii(), "some readers of a stream take other characters for line ends"
        told = [event["message"] for event in answer.json()["events"]]
        assert told == texts * 2
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

    def test_a_chatty_job_keeps_nobody_waiting(self, service: InProcess) -> None:
        attempt = service.attempt(service.submit()["id"])
        talk = threading.Thread(target=attempt.say, args=[line("word")] * TALK)
        talk.start()
        answered = 0
        while talk.is_alive():
            service.submit()
            answered += talk.is_alive()
        talk.join()
        assert answered >= 2, "others write between the parts of a long batch"
        assert attempt.next == TALK + 1

    def test_a_phase_moves_the_job_and_a_metric_is_its_progress(self, service: InProcess) -> None:
        attempt = service.attempt(service.submit()["id"])
        later = {**METRIC, "step": 5}
        attempt.say(phase("prepare"), phase("compile"), METRIC, phase("run"), METRIC, later)
        job = service.job(attempt.claim["job_id"])
        assert job["state"] == "running"
        assert job["progress"] == {
            "epoch": 1,
            "epochs": 2,
            "step": 5,
            "steps": 6,
            "values": {"loss": 0.5},
            "eta_seconds": None,
        }

    def test_a_phase_that_cannot_come_now_is_refused_with_its_batch(
        self, service: InProcess
    ) -> None:
        attempt = service.attempt(service.submit()["id"])
        attempt.say(phase("run"))
        before = service.events(attempt.claim["job_id"])
        response = attempt.say(line("before"), phase("compile"))
        assert check_problem(response, 409)["code"] == "illegal_transition"
        assert service.events(attempt.claim["job_id"]) == before
        assert attempt.say(line("after")).json() == {"next": 3}

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


class TestFinish:
    def test_the_same_verdict_twice_is_one(self, service: InProcess) -> None:
        attempt = service.attempt(service.submit()["id"])
        first = attempt.finish("diverged", "the loss is NaN", epoch=3)
        again = attempt.finish("diverged", "the loss is NaN", epoch=3)
        assert first.status_code == again.status_code == 200
        assert first.json() == again.json()
        assert first.json()["state"] == "failed"
        assert first.json()["message"] == "the loss is NaN"
        assert first.json()["summary"] == {"epoch": 3}

    def test_another_verdict_comes_too_late(self, service: InProcess) -> None:
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

    def test_nobody_cancels_but_the_user(self, service: InProcess) -> None:
        attempt = service.attempt(service.submit()["id"])
        response = attempt.finish("cancelled_by_user")
        assert check_problem(response, 409)["code"] == "illegal_transition"


class TestOrders:
    def test_a_cancel_is_told_to_the_agent_that_waits_for_one(self, service: InProcess) -> None:
        job_id = service.submit()["id"]
        attempt = service.attempt(job_id)
        with ThreadPoolExecutor(1) as beside:
            waiting = beside.submit(attempt.orders, wait=30)
            eventually(lambda: service.parts.changes.is_watched(store.state_topic(job_id)))
            service.user.post(f"/v1/jobs/{job_id}/cancel")
            response = waiting.result(timeout=10)
        assert response.json() == {"cancel": True}
        assert response.headers["preference-applied"] == "wait=30"

    def test_without_news_the_answer_comes_when_the_wait_is_over(self, service: InProcess) -> None:
        attempt = service.attempt(service.submit()["id"])
        assert attempt.orders(wait=0).json() == {"cancel": False}

    def test_an_attempt_that_has_ended_is_refused(self, service: InProcess) -> None:
        attempt = service.attempt(service.submit()["id"])
        attempt.finish("diverged")
        assert check_problem(attempt.orders(wait=30), 409)["code"] == "stale_token"


class TestLoss:
    """Infrastructure that is lost costs an attempt, not the job."""

    @pytest.mark.parametrize("reason", ["runner_lost", "worker_lost", "worker_stopped"])
    def test_the_next_attempt_resumes_from_the_last_checkpoint(
        self, hasty: InProcess, reason: str
    ) -> None:
        first = hasty.attempt(hasty.submit()["id"])
        first.put("one.ckpt", "checkpoint", b"epoch 1")
        first.put("two.ckpt", "checkpoint", b"epoch 2")
        first.finish(reason, "the machine went away")
        second = hasty.attempt(first.claim["job_id"])
        assert second.claim["attempt"] == 2
        checkpoint = second.claim["checkpoint"]
        assert checkpoint["name"] == "two.ckpt"
        assert checkpoint["sha256"] == hashlib.sha256(b"epoch 2").hexdigest()
        path = f"/v1/jobs/{first.claim['job_id']}/artifacts/{checkpoint['artifact_id']}/content"
        assert hasty.worker.get(path).content == b"epoch 2"
        job = second.complete()
        assert [attempt["reason"] for attempt in job["attempts"]] == [reason, "completed"]

    def test_a_silent_agent_loses_its_job_to_the_next(self, hasty: InProcess) -> None:
        silent = hasty.attempt(hasty.submit()["id"])
        silent.put("one.ckpt", "checkpoint", b"epoch 1")
        hasty.expire_leases()
        successor = hasty.attempt(silent.claim["job_id"])
        assert successor.claim["checkpoint"]["name"] == "one.ckpt"
        events = hasty.events(silent.claim["job_id"], kind="state")["events"]
        states = [(event["state"], event["reason"]) for event in events]
        assert states == [
            ("queued", None),
            ("preparing", None),
            ("retry_wait", "worker_lost"),
            ("queued", "worker_lost"),
            ("preparing", None),
        ]
        successor.finish("diverged")

    def test_who_is_heard_keeps_the_job(self, hasty: InProcess) -> None:
        held, silent = (hasty.attempt(hasty.submit()["id"]) for _ in range(2))

        def set_lease(attempt: Attempt, seconds: float) -> None:
            this = tables.attempts.c.id == attempt.claim["attempt_id"]
            with hasty.database.write() as transaction:
                until = transaction.now + round(seconds * 1000)
                ends = update(tables.attempts).where(this).values(lease_expires_at=until)
                transaction.connection.execute(ends)

        set_lease(held, LEASE_SECONDS / 2)
        assert held.heartbeat().json() == {"cancel": False, "lease_seconds": LEASE_SECONDS}
        with hasty.database.read() as transaction:
            found = leases.hold(transaction, held.claim["attempt_id"], held.fence)
            assert found.lease_expires_at > transaction.now + LEASE_SECONDS / 2 * 1000
        set_lease(silent, 0)
        job_id = silent.claim["job_id"]
        eventually(lambda: hasty.job(job_id)["attempts"][0]["finished_at"])
        assert held.heartbeat().status_code == 200
        held.finish("diverged")

    def test_an_agent_that_dies_while_stopping_does_not_hold_the_job_up(
        self, hasty: InProcess
    ) -> None:
        attempt = hasty.attempt(hasty.submit()["id"])
        path = f"/v1/jobs/{attempt.claim['job_id']}"
        hasty.user.post(f"{path}/cancel")
        hasty.expire_leases()
        job = hasty.user.get(path, headers={"prefer": "wait=30"}).json()
        assert (job["state"], job["reason"]) == ("cancelled", "cancelled_by_user")
        check_refused(attempt)

    def test_a_job_that_kills_every_worker_is_the_poison_itself(self, hasty: InProcess) -> None:
        job_id = hasty.submit()["id"]
        for number in range(1, MAX_ATTEMPTS + 1):
            attempt = hasty.attempt(job_id)
            assert attempt.claim["attempt"] == number
            job = attempt.finish("runner_lost", "killed by signal 9").json()
        assert (job["state"], job["reason"]) == ("failed", "runner_lost")
        lost = f"It was lost {MAX_ATTEMPTS} times, and is not tried again."
        assert job["message"] == f"killed by signal 9 {lost}"
        assert len(job["attempts"]) == MAX_ATTEMPTS
        check_problem(hasty.claim(job_id), 409)

    def test_a_failure_of_the_experiment_is_not_tried_again(self, hasty: InProcess) -> None:
        attempt = hasty.attempt(hasty.submit()["id"])
        job = attempt.finish("out_of_memory", "needs 3 GB").json()
        assert (job["state"], job["reason"]) == ("failed", "out_of_memory")
        assert len(job["attempts"]) == 1

    def test_files_of_a_lost_attempt_are_not_the_jobs(self, hasty: InProcess) -> None:
        first = hasty.attempt(hasty.submit()["id"])
        kept = first.put("early.bin", "weights", b"evidence").json()["artifact_id"]
        first.finish("worker_stopped")
        second = hasty.attempt(first.claim["job_id"])
        second.complete()
        path = f"/v1/jobs/{first.claim['job_id']}/artifacts"
        names = [artifact["name"] for artifact in hasty.user.get(path).json()["artifacts"]]
        assert names == ["manifest.json"]
        assert hasty.user.get(f"{path}/{kept}/content").content == b"evidence"

    def test_the_wait_doubles(self, redis_server: RedisServer, tmp_path: Path) -> None:
        settings = settings_for(tmp_path / "home", redis_server.url, retry_seconds=0.05)
        with InProcess(settings) as service:
            job_id = service.submit()["id"]
            for _ in range(4):
                service.attempt(job_id).finish("runner_lost")
            service.attempt(job_id)
            seconds = service.job(job_id)["phase_seconds"]["retry_wait"]
            assert seconds >= 0.05 * (1 + 2 + 4 + 8)


class TestLastEvents:
    """What an attempt says at its end may come with the verdict, in the same transaction."""

    def test_they_stand_before_the_end(self, service: InProcess) -> None:
        job_id = service.submit()["id"]
        attempt = service.attempt(job_id)
        last = [{"kind": "log", "message": "bye", "level": "info", "stream": "stdout"}]
        body = {"reason": "diverged", "message": "", "summary": {}, "first": 1, "events": last}
        for _ in range(2):  # the answer may get lost; nothing is told twice
            assert attempt.post("finish", body).status_code == 200
        kinds = [event["kind"] for event in service.events(job_id)["events"]]
        assert kinds == ["state", "state", "log", "state"]

    def test_neither_is_kept_where_one_is_refused(self, service: InProcess) -> None:
        job_id = service.submit()["id"]
        attempt = service.attempt(job_id)
        body = {"reason": "completed", "message": "", "summary": {}, "first": 1}
        said = {**body, "events": [phase("prepare")]}
        assert attempt.post("finish", said).json()["code"] == "incomplete"
        gap = {**said, "reason": "diverged", "first": 2}
        assert attempt.post("finish", gap).json()["code"] == "sequence_gap"
        assert len(service.events(job_id)["events"]) == 2
        assert service.job(job_id)["state"] == "preparing"


class TestManifestWithTheEnd:
    """One request less before somebody sees the end: the manifest may come with the verdict."""

    @staticmethod
    def end(content: bytes = b"{}", **fields: str) -> dict[str, Any]:
        manifest = {
            "name": "manifest.json",
            "sha256": hashlib.sha256(content).hexdigest(),
            "base64": b64encode(content).decode(),
        }
        said = {"reason": "completed", "events": [phase(name) for name in PHASES]}
        return {**said, "manifest": {**manifest, **fields}}

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
        said = self.end(secrets.token_bytes(8), **fields)
        problem = check_problem(attempt.post("finish", said), 422)
        assert problem["errors"][0]["pointer"].startswith("/manifest/")
        assert len(service.events(attempt.claim["job_id"])["events"]) == 2
        assert attempt.finish("completed").json()["code"] == "incomplete"

    def test_of_an_end_that_is_refused_no_file_is_left(self, service: InProcess) -> None:
        attempt = service.attempt(service.submit()["id"])
        content = secrets.token_bytes(8)
        said = {**self.end(content), "first": 2}
        assert attempt.post("finish", said).json()["code"] == "sequence_gap"
        digest = hashlib.sha256(content).hexdigest()
        assert list(service.settings.home.rglob(digest)) == []
        assert service.job(attempt.claim["job_id"])["state"] == "preparing"
