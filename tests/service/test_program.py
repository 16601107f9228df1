"""`python -m ipulse_service` as a process: killed, stopped, misconfigured."""

from __future__ import annotations

import json
import signal
import socket
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
import redis

from ipulse.stack.redis_server import RedisServer
from ipulse_service.jobs import store
from tests.service.background.test_publisher import published
from tests.service.conftest import PATIENCE
from tests.service.http.routes.test_events import frames

from .agents import Attempt, line
from .conditions import eventually
from .running import SPEC, InProcess, Program, Service, settings_for


def log_lines(service: Program) -> list[dict[str, Any]]:
    whole, _, _ = service.log_path.read_text().rpartition("\n")  # it may be writing the next
    return [json.loads(text) for text in whole.splitlines()]


class TestKilled:
    def test_an_accepted_job_is_still_there_and_gets_published(
        self, program: Program, broker: redis.Redis
    ) -> None:
        with program:
            headers = {"idempotency-key": "once"}
            job = program.submit(SPEC, **headers)
            program.end(signal.SIGKILL)
            broker.flushall()  # whether or not the wake-up was sent: it is lost as well
            program.start()
            assert {**program.job(job["id"]), "waiting_on": None} == job
            assert program.submit(SPEC, **headers) == job
            eventually(lambda: job["id"] in published(broker))

    def test_no_kill_between_commit_and_publish_loses_a_job(
        self, program: Program, broker: redis.Redis
    ) -> None:
        with program:
            accepted = []
            for pause in (0.0, 0.002, 0.01):
                accepted.append(program.submit()["id"])
                time.sleep(pause)  # where the kill lands is the point of this test
                program.end(signal.SIGKILL)
                program.start()
            assert {job["id"] for job in program.user.get("/v1/jobs").json()["jobs"]} == set(
                accepted
            )
            eventually(lambda: set(published(broker)) == set(accepted))

    def test_an_attempt_continues_and_its_events_have_no_gap(self, program: Program) -> None:
        with program:
            claim = program.attempt(program.submit()["id"]).claim
            attempt = Attempt(program.worker, claim)
            for number in range(5):
                attempt.report(line(str(number)))
            path = f"/v1/jobs/{claim['job_id']}/events"
            stream = {"accept": "text/event-stream"}
            seen = []
            with program.user.stream("GET", path, headers=stream) as response:
                for frame in frames(response):
                    if "id" in frame:
                        seen.append(frame["id"])
                    if len(seen) == 4:
                        break
            program.end(signal.SIGKILL)
            program.start()
            successor = Attempt(program.worker, claim)
            successor.next = attempt.next
            for number in range(5, 8):
                assert successor.report(line(str(number))).status_code == 200
            successor.complete()
            headers = {**stream, "last-event-id": seen[-1]}
            with program.user.stream("GET", path, headers=headers) as response:
                seen += [frame["id"] for frame in frames(response) if "id" in frame]
            numbers = [int(one.partition("-")[0]) for one in seen]
            assert numbers == list(range(1, program.job(claim["job_id"])["last_seq"] + 1))
            events = program.events(claim["job_id"], kind="log")["events"]
            assert [event["message"] for event in events] == list("01234567")


class TestStopped:
    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
    def test_ends_cleanly_under_an_open_stream(
        self, program: Program, number: signal.Signals
    ) -> None:
        with program:
            path = f"/v1/jobs/{program.submit()['id']}/events"
            reader = program.client(program.settings.token_file)
            stream = {"accept": "text/event-stream"}
            with reader, reader.stream("GET", path, headers=stream) as response:
                story = frames(response)
                eventually(lambda: next(story).get("event") == "state")
                began = time.monotonic()
                assert program.end(number) == 0
                assert time.monotonic() - began < program.settings.shutdown_seconds
                assert [frame for frame in story if frame.get("event") == "end"] == []
            assert not (program.settings.home / "server.json").exists()
            assert log_lines(program)[-1]["action"] == "stopped"

    def test_waiting_requests_are_answered_at_once(
        self, home: Path, redis_server: RedisServer
    ) -> None:
        service = InProcess(settings_for(home, redis_server.url, shutdown_seconds=PATIENCE))
        answers: list[bytes] = []

        def follow(client: httpx.Client, path: str, headers: dict[str, str]) -> None:
            answers.append(client.get(path, headers=headers).content)

        with service, service.client(service.settings.token_file) as client:
            job_id = service.submit()["id"]
            waits = (
                (client, f"/v1/jobs/{job_id}/events", {"accept": "text/event-stream"}),
                (client, f"/v1/jobs/{job_id}", {"prefer": "wait=30"}),
            )
            threads = [threading.Thread(target=follow, args=wait) for wait in waits]
            for thread in threads:
                thread.start()
            for topic in (job_id, store.stop_topic(job_id)):  # of the stream, of the end
                eventually(partial(service.state.notifier.is_watched, topic))
            service.state.notifier.stop()
            began = time.monotonic()
            for thread in threads:
                thread.join()
            assert time.monotonic() - began < service.settings.shutdown_seconds
        assert len(answers) == 2
        assert not any(b"event: end" in answer for answer in answers)

    def test_a_pause_longer_than_a_lease_is_not_held_against_an_agent(
        self, home: Path, redis_server: RedisServer
    ) -> None:
        settings = settings_for(home, redis_server.url)
        short = {"IPULSE_LEASE_SECONDS": "3", "IPULSE_HEARTBEAT_SECONDS": "0.2"}
        with Program(settings, **short) as program:
            attempt = program.attempt(program.submit()["id"])
            assert program.process is not None
            program.process.send_signal(signal.SIGSTOP)
            time.sleep(3.5)  # longer than the lease, and than what everybody gets after a start
            program.process.send_signal(signal.SIGCONT)
            assert attempt.heartbeat().status_code == 200
            eventually(lambda: program.job(attempt.claim["job_id"])["state"] != "preparing")


def test_answers_are_not_held_back_to_fill_packets(home: Path, redis_server: RedisServer) -> None:
    """Nagle's delay would cost each answer with a body forty milliseconds."""
    with InProcess(settings_for(home, redis_server.url)) as service:
        service.submit()
        connections = list(service.server.server_state.connections)
        assert connections
        for connection in connections:
            accepted = connection.transport.get_extra_info("socket")
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_two_services_on_one_database_do_not_get_in_each_others_way(
    home: Path, redis_server: RedisServer, broker: redis.Redis
) -> None:
    """Two replicas publish and serve claims: each claim has one winner, and nothing is lost."""
    settings = settings_for(home, redis_server.url)
    other_home = {"IPULSE_DATABASE_URL": settings.database_url}
    other_home["IPULSE_ARTIFACTS_DIR"] = str(settings.artifacts_dir)
    other_home["IPULSE_TOKEN_FILE"] = str(settings.token_file)
    other_home["IPULSE_AGENT_KEY_FILE"] = str(settings.agent_key_file)
    second_settings = settings_for(home.with_name("other"), redis_server.url).model_copy(
        update={
            "token_file": settings.token_file,
            "agent_key_file": settings.agent_key_file,
        }
    )
    with Program(settings) as one, Program(second_settings, **other_home) as two:
        doors: list[Service] = [one, two]
        jobs = [doors[number % 2].submit()["id"] for number in range(10)]
        for number, job_id in enumerate(jobs):
            answers = [door.claim(job_id) for door in doors[:: 1 if number % 2 else -1]]
            assert sorted(answer.status_code for answer in answers) == [200, 409]
        assert len(two.user.get("/v1/jobs").json()["jobs"]) == 10
